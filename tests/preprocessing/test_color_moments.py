import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import estimator_checks

from nearlabel.lazy import MLkNN
from nearlabel.persistence import load_model, save_model
from nearlabel.preprocessing import ColorMoments

# Colours and their L*, u*, v*: primaries as in tables of sRGB with the white point D65, the others from rgb2luv of
# scikit-image 0.26.
PUBLISHED = {
    (1, 0, 0): (53.24, 175.01, 37.76),
    (0, 1, 0): (87.73, -83.08, 107.40),
    (0, 0, 1): (32.30, -9.40, -130.34),
    (0, 0, 0): (0, 0, 0),
    (1, 1, 1): (100, 0, 0),
    (0.5, 0.5, 0.5): (53.389, 0, 0.004),
    (0.2, 0.4, 0.6): (42.008, -20.249, -47.550),
    (0.02, 0.01, 0.03): (0.949, 0.294, -0.934),
    (0.9, 0.1, 0.3): (49.486, 139.210, 14.532),
}


def images(n=3, height=15, width=10, seed=0):
    """Random images, floating-point numbers from 0 to 1."""
    return np.random.default_rng(seed).random((n, height, width, 3))


def uniform(color, height=7, width=7):
    """An image of one colour."""
    return np.full((height, width, 3), color, dtype=float)


def luv_by_loops(color):
    """The definition, CIE 15:2004 and IEC 61966-2-1, for one colour."""
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color)
    x = 0.412453 * r + 0.357580 * g + 0.180423 * b
    y = 0.212671 * r + 0.715160 * g + 0.072169 * b
    z = 0.019334 * r + 0.119193 * g + 0.950227 * b
    lightness = 116 * y ** (1 / 3) - 16 if y > (6 / 29) ** 3 else (29 / 3) ** 3 * y
    white = 0.95047 + 15 + 3 * 1.08883
    total = x + 15 * y + 3 * z
    if total == 0:
        return 0.0, 0.0, 0.0
    return (
        lightness,
        13 * lightness * (4 * x / total - 4 * 0.95047 / white),
        13 * lightness * (9 * y / total - 9 / white),
    )


def moments_by_loops(image, rows, columns):
    """Mean and variance of each band and block, from lists of pixels."""
    height, width = image.shape[:2]
    pixels = {}
    for i in range(height):
        for j in range(width):
            row = max(r for r in range(rows) if r * height // rows <= i)
            column = max(c for c in range(columns) if c * width // columns <= j)
            pixels.setdefault((row, column), []).append(luv_by_loops(image[i, j]))
    result = {}
    for (row, column), colors in pixels.items():
        for band, values in zip("Luv", zip(*colors, strict=True), strict=True):
            mean = sum(values) / len(values)
            result[f"{band}_{row}_{column}_mean"] = mean
            result[f"{band}_{row}_{column}_variance"] = sum((v - mean) ** 2 for v in values) / len(values)
    return result


@pytest.mark.parametrize("grid", [7, (2, 3), 1])
@pytest.mark.parametrize(("height", "width"), [(7, 7), (14, 21), (15, 10), (9, 33)])
def test_equals_loops(height, width, grid):
    """Features agree with loops over pixels, whatever the sizes, and bear the right names."""
    X = images(2, height, width)
    moments = ColorMoments(grid)
    rows, columns = (grid, grid) if isinstance(grid, int) else grid
    names = moments.get_feature_names_out()
    for features, image in zip(moments.transform(X), X, strict=True):
        expected = moments_by_loops(image, rows, columns)
        assert sorted(names) == sorted(expected)
        np.testing.assert_allclose(features, [expected[name] for name in names], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("color", "luv"), PUBLISHED.items())
def test_published_colors(color, luv):
    """An image of one colour has its published L, u and v as means, and no variance."""
    features = ColorMoments().transform([uniform(color)]).reshape(3, 49, 2)
    np.testing.assert_allclose(features[:, :, 0], np.repeat(luv, 49).reshape(3, 49), atol=0.01)
    np.testing.assert_allclose(features[:, :, 1], 0, atol=1e-20)


def test_colors_are_those_of_scikit_image():
    """Luv agrees with rgb2luv, whose constants have four digits, over the whole cube."""
    color = pytest.importorskip("skimage.color")
    levels = np.linspace(0, 1, 18)
    cube = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(1, 18 * 18, 18, 3)
    ours = ColorMoments((18 * 18, 18)).transform(cube).reshape(3, 18 * 18, 18, 2)[..., 0]
    np.testing.assert_allclose(np.moveaxis(ours, 0, -1), color.rgb2luv(cube)[0], atol=2e-4)


def test_by_hand():
    """A block of three white pixels and a black one: mean 75, variance (3 · 25² + 75²) / 4 = 1875."""
    image = np.zeros((4, 2, 3), dtype=np.uint8)
    image[[0, 0, 1, 2, 3], [0, 1, 0, 0, 0]] = 255
    L = ColorMoments(grid=(2, 1)).transform([image])[0, :4]
    np.testing.assert_allclose(L, [75, 1875, 50, 2500], rtol=1e-12)


def test_the_paper_has_294_features():
    """The default: 49 blocks, 3 bands, 2 moments, in the order of the public data set."""
    names = ColorMoments().get_feature_names_out()
    assert len(set(names)) == 49 * 3 * 2 == len(names)
    assert names[:3].tolist() == ["L_0_0_mean", "L_0_0_variance", "L_0_1_mean"]
    assert names[14] == "L_1_0_mean"
    assert names[98] == "u_0_0_mean"
    assert names[-1] == "v_6_6_variance"


def test_kinds_of_input_agree():
    """An array, a list, a generator, bytes, float32 and lists of numbers describe the same images."""
    bytes_ = (images() * 255).astype(np.uint8)
    expected = ColorMoments().transform(bytes_)
    assert expected.dtype == np.float64
    numbers = bytes_ / 255
    for same in (list(bytes_), (image for image in bytes_), numbers, numbers.tolist()):
        np.testing.assert_array_equal(ColorMoments().transform(same), expected)
    np.testing.assert_allclose(ColorMoments().transform(numbers.astype(np.float32)), expected, rtol=1e-4, atol=1e-3)


def test_images_of_different_sizes():
    """Each is described as it is alone; input is not changed."""
    X = [images(1, height, width, seed=height)[0] for height, width in ((7, 9), (30, 20), (11, 40))]
    copies = [image.copy() for image in X]
    alone = [ColorMoments().transform([image])[0] for image in X]
    np.testing.assert_array_equal(ColorMoments().transform(X), alone)
    for image, copy in zip(X, copies, strict=True):
        np.testing.assert_array_equal(image, copy)


def test_larger_pixels_change_nothing():
    """Each pixel doubled in height and width has the same moments, where blocks are of whole pixels."""
    X = images(2, 14, 7)
    doubled = X.repeat(2, axis=1).repeat(2, axis=2)
    np.testing.assert_allclose(ColorMoments().transform(doubled), ColorMoments().transform(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (images()[..., 0], r"image 0 of X must be RGB of shape \(height, width, 3\), got shape \(15, 10\).*np.stack"),
        ([images()[0], images()[0, :, :, :1]], r"image 1 of X must be RGB.*got shape \(15, 10, 1\).*np.stack"),
        (np.ones((2, 9, 9, 4)), r"got shape \(9, 9, 4\).*drops the transparency"),
        (np.ones((2, 9, 9, 2)), r"got shape \(9, 9, 2\)\.$"),
        (images()[0], r"X must be a sequence of images, got one image of shape \(15, 10, 3\). Hint: \[X\]"),
        (images(height=6), r"must have a pixel for each block of the grid \(7, 7\), got shape \(6, 10, 3\)"),
        (images().astype(int), "must be uint8 from 0 to 255 or floating-point .* got int64. Hint: image.astype"),
        (images() * 255, "must be from 0 to 1 in floating-point numbers, got .* Hint: divide by 255"),
        (images() - 0.1, "must be from 0 to 1 in floating-point numbers, got -0"),
        (images() * np.nan, "must be from 0 to 1 in floating-point numbers, got nan"),
        ([], r"X must have at least one image, got 0 sample\(s\)"),
        (np.ones((2, 4)), r"image 0 of X must be RGB of shape \(height, width, 3\), got shape \(4,\)"),
    ],
)
def test_bad_images(X, message):
    """What is no RGB image is named, with a hint."""
    with pytest.raises(ValueError, match=message):
        ColorMoments().transform(X)


@pytest.mark.parametrize("X", ["photo.png", 3, None])
def test_no_images(X):
    """Neither a file name nor a number is a sequence of images."""
    with pytest.raises(TypeError, match="X must be an array or a sequence of images"):
        ColorMoments().transform(X)


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        (0, ValueError, "grid must be at least 1, got 0"),
        ((7, 0), ValueError, "grid must be at least 1, got 0"),
        ((7, 7, 7), ValueError, r"grid must be an integer or a pair of integers, got \(7, 7, 7\)"),
        (2.5, TypeError, "grid must be an integer"),
        ("7", TypeError, "grid must be an integer"),
    ],
)
def test_bad_grid(grid, error, message):
    """A bad grid is refused by all methods."""
    for use in (ColorMoments(grid).fit, ColorMoments(grid).get_feature_names_out):
        with pytest.raises(error, match=message):
            use()
    with pytest.raises(error, match=message):
        ColorMoments(grid).transform(images())


def test_in_a_pipeline(tmp_path):
    """Pipelines fit, predict, name features, give frames, and are saved and loaded."""
    pd = pytest.importorskip("pandas")
    X = np.concatenate([images(10) * 0.3, images(10, seed=1) * 0.3 + 0.7])
    Y = np.repeat([[1, 0], [0, 1]], 10, axis=0)
    pipeline = make_pipeline(ColorMoments(3), MinMaxScaler(), MLkNN(3)).fit(X, Y)
    np.testing.assert_array_equal(pipeline.predict(X), Y)
    assert pipeline[:2].get_feature_names_out()[0] == "L_0_0_mean"
    save_model(pipeline, tmp_path / "model.nearlabel")
    np.testing.assert_array_equal(load_model(tmp_path / "model.nearlabel").predict_proba(X), pipeline.predict_proba(X))
    frame = ColorMoments(3).set_output(transform="pandas").fit_transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ColorMoments(3).get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame, ColorMoments(3).transform(X))


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_mixin_order",
    ],
)
def test_estimator_checks(check):
    """scikit-learn's checks that need no table; all others give tables as X, which this transformer refuses."""
    getattr(estimator_checks, check)("ColorMoments", ColorMoments())


def test_clone_keeps_the_grid():
    """A clone has the same parameter, and needs no fit."""
    assert clone(ColorMoments((2, 3))).transform(images()).shape == (3, 36)
