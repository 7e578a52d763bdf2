"""The requirements for multi-label classifiers, searches, metrics and samplers, as checks for any estimator.

scikit-learn's checks apply too: `sklearn.utils.estimator_checks.check_estimator`, with the few exceptions that
`expected_failed_checks` lists with reasons. All public classifiers pass it with default parameters.

Examples
--------
>>> from nearlabel.lazy import MLkNN
>>> from nearlabel.testing import check_multilabel_estimator
>>> check_multilabel_estimator(MLkNN(n_neighbors=3))
"""

from nearlabel.testing._classifiers import (
    MULTILABEL_CHECKS,
    check_bad_input_is_refused,
    check_constructor_only_stores,
    check_container_of_labels_is_kept,
    check_data_frames,
    check_each_query_is_answered_by_itself,
    check_fit_forgets,
    check_labels_permute_with_columns,
    check_labels_with_one_class_are_constant,
    check_left_out_answers_follow_labels,
    check_multilabel_estimator,
    check_one_dimensional_target,
    check_predict_changes_nothing,
    check_predictions_are_label_sets,
    check_scikit_learn_tools,
    check_scores_are_one_array,
    check_sparse_equals_dense,
    check_updates_equal_fits,
    expected_failed_checks,
)
from nearlabel.testing._parts import (
    METRIC_CHECKS,
    SAMPLER_CHECKS,
    SEARCH_CHECKS,
    Check,
    check_metric,
    check_metric_changes_no_input,
    check_metric_ignores_the_order_of_samples,
    check_metric_is_best_for_the_truth,
    check_metric_returns_a_number,
    check_metric_weights_of_one_change_nothing,
    check_sampler,
    check_sampler_answers_alike,
    check_sampler_changes_no_input,
    check_sampler_keeps_containers,
    check_sampler_keeps_the_order,
    check_sampler_refuses_bad_input,
    check_sampler_says_where_rows_come_from,
    check_search,
    check_search_answers_alike,
    check_search_changes_no_input,
    check_search_forgets,
    check_search_leaves_a_row_out_of_its_own_list,
    check_search_returns_two_matrices,
    check_search_updates_equal_fits,
    run_checks,
)

__all__ = [
    "METRIC_CHECKS", "MULTILABEL_CHECKS", "SAMPLER_CHECKS", "SEARCH_CHECKS", "Check", "check_bad_input_is_refused",
    "check_constructor_only_stores", "check_container_of_labels_is_kept", "check_data_frames",
    "check_each_query_is_answered_by_itself", "check_fit_forgets", "check_labels_permute_with_columns",
    "check_labels_with_one_class_are_constant", "check_left_out_answers_follow_labels", "check_metric",
    "check_metric_changes_no_input", "check_metric_ignores_the_order_of_samples", "check_metric_is_best_for_the_truth",
    "check_metric_returns_a_number", "check_metric_weights_of_one_change_nothing", "check_multilabel_estimator",
    "check_one_dimensional_target", "check_predict_changes_nothing", "check_predictions_are_label_sets",
    "check_sampler", "check_sampler_answers_alike", "check_sampler_changes_no_input", "check_sampler_keeps_containers",
    "check_sampler_keeps_the_order", "check_sampler_refuses_bad_input", "check_sampler_says_where_rows_come_from",
    "check_scikit_learn_tools", "check_scores_are_one_array", "check_search", "check_search_answers_alike",
    "check_search_changes_no_input", "check_search_forgets", "check_search_leaves_a_row_out_of_its_own_list",
    "check_search_returns_two_matrices", "check_search_updates_equal_fits", "check_sparse_equals_dense",
    "check_updates_equal_fits", "expected_failed_checks", "run_checks",
]  # fmt: skip
