"""The routes of the service, for each of its models."""

from __future__ import annotations

import asyncio
import logging
import traceback
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ValidationError

from nearlabel import __version__
from nearlabel.audit import audit
from nearlabel.datasets import tables
from nearlabel.serve import _answers as answers
from nearlabel.serve import _docs as docs
from nearlabel.serve import _label_studio as label_studio
from nearlabel.serve import _shapes as shapes
from nearlabel.serve import _workbench as workbench
from nearlabel.serve._guard import BodyTooLargeError, BodyTooSlowError, Guard, Limits, problem
from nearlabel.serve._live import Changed, KeyUsedError, LiveModel, ReadOnlyError, State
from nearlabel.serve._metrics import Metrics
from nearlabel.utils.tables import names_of_rows

Shape = TypeVar("Shape", bound=BaseModel)
Found = TypeVar("Found")
_Route = Callable[[Request], Awaitable[Response]]
_LOG = logging.getLogger("nearlabel.serve")
_COMPACTION, _AFTER_FAILURE = 2.0, 60.0  # seconds between looks at whether a journal is long
_MOST_LEVELS = 40  # of lists and objects in a body
_MOST_CHANGES = 1000  # that wait
_LONG_BODY, _MANY_ROWS = 2**17, 10  # bytes, and rows, of which a request takes long


class _App:
    """One process of the service."""

    def __init__(self, served: Mapping[str, LiveModel], limits: Limits, *, log_rows: bool) -> None:
        self.served, self.limits, self._log_rows = served, limits, log_rows
        self.searching, self.changing = ThreadPoolExecutor(1, "search"), ThreadPoolExecutor(1, "change")
        self.batches = {name: answers.Batches(model, self.searching) for name, model in served.items()}
        self.metrics = Metrics(served)
        self._n_changes = 0  # that wait or are being made

    async def in_time(self, work: Awaitable[Any]) -> Any:
        """Wait for an answer, but not for ever."""
        try:
            return await asyncio.wait_for(work, self.limits.seconds)
        except TimeoutError:
            detail = f"the answer must take at most {self.limits.seconds:g} seconds. Hint: fewer rows at once."
            raise HTTPException(503, detail) from None

    async def changed(self, work: Callable[..., Changed], *arguments: Any) -> Changed:
        """Make a change, which is not given up half-way."""
        if self._n_changes >= _MOST_CHANGES:
            raise answers.BusyError("changes", self._n_changes)
        self._n_changes += 1
        change = asyncio.get_running_loop().run_in_executor(self.changing, work, *arguments)
        change.add_done_callback(self._count_change)
        now: Changed = await self.in_time(asyncio.shield(change))
        return now

    def _count_change(self, _: Any) -> None:
        self._n_changes -= 1

    async def computed(self, work: Callable[..., Found], *arguments: Any, is_long: bool = True) -> Found:
        """Compute something, in a thread if it is long, so that other requests are answered meanwhile."""
        if not is_long:
            return work(*arguments)
        found: Found = await self.in_time(asyncio.get_running_loop().run_in_executor(None, work, *arguments))
        return found

    async def state_of(self, model: LiveModel) -> State:
        """Return the state of a model; in a thread where it has to make the changes of other processes."""
        return await self.computed(lambda: model.state, is_long=model.is_behind)

    async def body_of(self, request: Request, shape: type[Shape]) -> Shape:
        """Return the body of a request; ValueError describes what is wrong with it."""
        content = await request.body()
        if self._log_rows:
            _LOG.info("%s", content.decode(errors="replace"))
        given: Shape = await self.computed(_read, shape, content, is_long=len(content) > _LONG_BODY)
        sizes = {name: len(getattr(given, name, None) or ()) for name in ("rows", "texts", "arrays", "tasks")}
        for name, size in [*sizes.items(), ("n", getattr(given, "n", 0))]:
            if size > self.limits.rows:
                raise HTTPException(413, f"{name} must be at most {self.limits.rows} at once, got {size}.")
        return given

    def seen(self, method: str, route: str, status: int, seconds: float) -> None:
        """Log and count a request."""
        self.metrics.see(route, status, seconds)
        _LOG.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds)

    def failed(self, route: str, error: Exception) -> str:
        """Log an error of the service itself; return what the client sees of it."""
        number = uuid.uuid4().hex[:12]
        _LOG.error("error %s at %s: %s", number, route, _in_log(error, with_text=self._log_rows))
        return f"internal error {number}; the log of the service has its cause."

    async def compact_when_needed(self) -> None:
        """Write long journals, and those with forgotten samples, into the model files."""
        while True:
            await asyncio.sleep(_COMPACTION)
            for name, model in self.served.items():
                if model.is_updatable and model.needs_compaction:
                    try:
                        await asyncio.get_running_loop().run_in_executor(self.changing, model.compact)
                    except Exception as error:  # noqa: BLE001 - of the disk, or of another program: the service continues
                        why = _in_log(error, with_text=self._log_rows or isinstance(error, OSError))
                        _LOG.error("the changes of %s stay in its journal: %s", name, why)
                        await asyncio.sleep(_AFTER_FAILURE)


def make_app(
    served: Mapping[str, LiveModel], *, token: str = "", limits: Limits | None = None, log_rows: bool = False
) -> FastAPI:
    """Return the application; the first model is also served without its name in the path."""
    limits = limits or Limits()
    app = _App(served, limits, log_rows=log_rows)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(app.compact_when_needed())
        yield
        task.cancel()

    # The pages of FastAPI load programs from elsewhere.
    made = FastAPI(title="nearlabel", version=shapes.VERSION, lifespan=living, docs_url=None, redoc_url=None)
    made.state.app = app
    for number, name in enumerate(served):
        router = _router(app, name)
        if number == 0:
            made.include_router(router)
        made.include_router(router, prefix=f"/models/{name}", include_in_schema=number > 0)
    _add_common(made, app)
    _add_pages(made)
    _add_problems(made)
    made.add_middleware(Guard, token=token, limits=limits, seen=app.seen, failed=app.failed)
    return made


# A handler that is no coroutine runs in a thread, and so does what `computed` gets: there the state may be waited for,
# which makes the changes of other processes, and answers may be large.


def _add_common(made: FastAPI, app: _App) -> None:
    @made.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok", "nearlabel": __version__}

    @made.get("/ready")
    def ready() -> dict[str, Any]:
        return {"models": [_facts(name, model.state.answer) for name, model in app.served.items()]}

    @made.get("/metrics")
    def metrics() -> Response:
        return Response(*app.metrics.text())


def _add_pages(made: FastAPI) -> None:
    """Serve the documentation of the routes, and the files of the workbench, which contain no data."""

    def answering(file: str) -> Callable[[], Awaitable[Response]]:
        async def answer() -> Response:
            content, kind = workbench.content(file)
            return Response(content, media_type=kind, headers=workbench.HEADERS)

        return answer

    @made.get("/docs", include_in_schema=False)
    def documentation() -> Response:
        return HTMLResponse(docs.page(made.openapi()), headers=docs.HEADERS)

    for path, file in workbench.PAGE.items():
        made.add_api_route(path, answering(file), include_in_schema=False)


def _body(shape: type[BaseModel], *, csv: bool = False) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": shape.model_json_schema()}}
    if csv:
        content["text/csv"] = {"schema": {"type": "string"}}
    return {"requestBody": {"required": True, "content": content}}


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": shapes.Problem, "description": what}
    for code, what in {
        422: "The request is malformed.",
        413: "It is too large.",
        408: "It arrives too slowly.",
        503: "It takes too long, or too many wait.",
    }.items()
}


def _router(app: _App, name: str) -> APIRouter:
    """Return the routes of a model."""
    router, model, batches = APIRouter(), app.served[name], app.batches[name]

    def post(
        path: str, asked: type[BaseModel], answer: type[BaseModel], *, csv: bool = False
    ) -> Callable[[_Route], _Route]:
        return router.post(path, response_model=answer, openapi_extra=_body(asked, csv=csv), responses=_PROBLEMS)

    def listed(items: Sequence[Mapping[str, Any]], state: State) -> Response:
        return JSONResponse({"items": items, "model": _facts(name, state.answer)})

    async def predicted(request: Request, *, explain: bool) -> JSONResponse:
        options: Mapping[str, Any] = request.query_params
        if request.headers.get("content-type", "").startswith("text/csv"):
            given = _checked(shapes.PredictRequest, dict(_flags(options)))
            X = await app.computed(
                answers.rows_of_csv, await app.state_of(model), await request.body(), app.limits.rows
            )
        else:
            given = await app.body_of(request, shapes.PredictRequest)
            n_rows, state = len(given.rows or given.texts or given.arrays or ()), await app.state_of(model)
            X = await app.computed(answers.rows_of, state, given, is_long=n_rows > _MANY_ROWS)
        found = await app.in_time(batches.ask(X, explain=explain or given.explain))
        app.metrics.see_rows(name, X.shape[0])

        def answer() -> JSONResponse:
            shown = answers.predictions(found, top=given.top, proba=given.proba)
            return JSONResponse({"predictions": shown, "model": _facts(name, found.state.answer)})

        return await app.computed(answer, is_long=X.shape[0] > _MANY_ROWS)

    @post("/predict", shapes.PredictRequest, shapes.PredictAnswer, csv=True)
    async def predict(request: Request) -> Response:
        """Predict the labels of rows."""
        return await predicted(request, explain=False)

    @post("/explain", shapes.PredictRequest, shapes.PredictAnswer, csv=True)
    async def explain(request: Request) -> Response:
        """Predict the labels of rows, with the neighbours and their votes."""
        return await predicted(request, explain=True)

    @post("/update", shapes.UpdateRequest, shapes.ChangeAnswer)
    async def update(request: Request) -> Response:
        """Add labelled samples; they are on disk and in all later answers."""
        given = await app.body_of(request, shapes.UpdateRequest)
        now = await app.changed(model.update, given.rows, given.existing, request.headers.get("idempotency-key", ""))
        return JSONResponse({"model": _facts(name, now)})

    @post("/relabel", shapes.RelabelRequest, shapes.ChangeAnswer)
    async def relabel(request: Request) -> Response:
        """Change labels of a sample, and leave its features unchanged."""
        given = await app.body_of(request, shapes.RelabelRequest)
        key = request.headers.get("idempotency-key", "")
        now = await app.changed(model.relabel, given.id, given.labels, key)
        return JSONResponse({"model": _facts(name, now)})

    @post("/forget", shapes.ForgetRequest, shapes.ChangeAnswer)
    async def forget(request: Request) -> Response:
        """Remove samples by their ids."""
        given = await app.body_of(request, shapes.ForgetRequest)
        now = await app.changed(model.forget, given.ids, request.headers.get("idempotency-key", ""))
        return JSONResponse({"model": _facts(name, now)})

    @post("/suggest", shapes.SuggestRequest, shapes.ListAnswer)
    async def suggest(request: Request) -> Response:
        """Return the rows that should be labelled next, or whose predictions should be checked."""
        given = await app.body_of(request, shapes.SuggestRequest)

        def suggested() -> Response:
            state = model.state
            X = answers.rows_of(state, given)
            return listed(answers.suggestions(state, X, n=given.n, purpose=given.purpose), state)

        return await app.computed(suggested)

    @post("/audit", shapes.AuditRequest, shapes.ListAnswer)
    async def suspects(request: Request) -> Response:
        """Return the labels of training samples that are probably wrong."""
        given = await app.body_of(request, shapes.AuditRequest)

        def suspected() -> Response:
            state = model.state
            return listed(_suspects(state, given.n), state)

        return await app.computed(suspected)

    @router.get("/corrections", response_model=shapes.ListAnswer)
    def corrections() -> Response:
        """Return what people corrected in the workbench, the last correction of each sample."""
        return listed(model.corrections, model.state)

    @router.get("/form")
    def form() -> Response:
        """Return what the workbench asks people for: columns, with examples, and labels."""
        state = model.state
        limits = {"rows": app.limits.rows, "changes": model.is_updatable}
        return JSONResponse({**_finite(workbench.form(state)), **limits, "model": _facts(name, state.answer)})

    @router.get("/card")
    def card() -> Response:
        """Return the card of the model."""
        state = model.state
        return JSONResponse({"card": _finite(asdict(state.file.card)), "model": _facts(name, state.answer)})

    router.include_router(label_studio.routes(app, name))
    return router


def _suspects(state: State, n: int) -> list[dict[str, Any]]:
    opened, kept = state.opened, state.file.kept
    found = audit(opened.model, n_cells=n, label_names=opened.label_names)
    found = found.named(names_of_rows(kept)) if kept else found
    texts = [{name: column[cell.row] for name, column in kept.items()} for cell in found.cells]
    return [
        {**_finite(asdict(cell)), "id": own.get(opened.card.id_column, ""), "kept": own}
        for cell, own in zip(found.cells, texts, strict=True)
    ]


def _flags(options: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the options of a query: numbers, and words for true and false."""
    words = {"true": True, "1": True, "false": False, "0": False}
    return {
        name: int(text) if name == "top" and text.isdecimal() else words.get(text.lower(), text)
        for name, text in options.items()
    }


def _in_log(error: BaseException | None, *, with_text: bool) -> str:
    """Return the tracebacks of an error and its causes, without their texts, which may have contents of rows."""
    if error is None:
        return ""
    before = _in_log(error.__cause__ or error.__context__, with_text=with_text)
    text = f": {error}" if with_text else ""
    return f"{before}\n{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}{text}"


def _facts(name: str, now: Changed) -> dict[str, Any]:
    return {"name": name, "version": now.version, "samples": now.samples}


def _finite(value: Any) -> Any:
    """Return values that JSON can represent: numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _read(shape: type[Shape], content: bytes) -> Shape:
    """Return a body in its shape; raise ValueError that describes what is wrong."""
    return _checked(shape, _not_too_deep(tables.decoded(content)))


def _checked(shape: type[Shape], values: Any) -> Shape:
    """Return values in their shape; raise ValueError that describes what is wrong."""
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        raise ValueError(_first_of(error)) from error


def _not_too_deep(value: Any, levels: int = _MOST_LEVELS) -> Any:
    """Return a value; raise ValueError if it is nested too deeply to be written and read again."""
    if levels == 0:
        raise ValueError(f"the body must be nested at most {_MOST_LEVELS} levels deep, got more.")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not {dict, list}.isdisjoint(map(type, inner)):
        for one in inner:
            _not_too_deep(one, levels - 1)
    return value


def _first_of(error: ValidationError) -> str:
    """Return what is wrong with the first wrong value of a body."""
    first, n_others = error.errors(include_url=False)[0], error.error_count() - 1
    place = ".".join(map(str, first["loc"])) or "the body"
    more = f" ({n_others} more)" if n_others else ""
    return f"{place}: {first['msg']}, got {tables.shortened(first['input'])}{more}."


# Which status an error becomes; the first kind that fits.
_STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (BodyTooLargeError, 413),
    (BodyTooSlowError, 408),
    (answers.TooManyRowsError, 413),
    (KeyUsedError, 409),
    (ReadOnlyError, 403),
    (answers.BusyError, 503),
    (MemoryError, 413),
    (ValueError, 422),
    (TypeError, 422),
)


def _add_problems(made: FastAPI) -> None:
    """Answer errors with problems, without tracebacks."""

    def answer(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
        return Response(problem(status, detail)[1], status, headers, media_type="application/problem+json")

    async def of_http(_: Request, error: Any) -> Response:
        return answer(error.status_code, str(error.detail), error.headers)

    async def of_error(_: Request, error: Exception) -> Response:
        status = next(status for kind, status in _STATUSES if isinstance(error, kind))
        return answer(status, str(error), {"Retry-After": "1"} if status == 503 else None)

    async def of_request(_: Request, error: Any) -> Response:
        return answer(422, "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()))

    made.add_exception_handler(RequestValidationError, of_request)
    made.add_exception_handler(404, of_http)
    made.add_exception_handler(405, of_http)
    made.add_exception_handler(HTTPException, of_http)
    for kind, _ in _STATUSES:
        made.add_exception_handler(kind, of_error)
