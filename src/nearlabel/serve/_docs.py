"""The page at ``/docs``: the routes with the shapes of their bodies and answers. It loads its style only, from here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
}


def page(schema: Mapping[str, Any]) -> str:
    """Return the page of an OpenAPI document."""
    title = escape(f"{schema['info']['title']} API, version {schema['info']['version']}")
    routes = [
        line
        for path, methods in schema["paths"].items()
        for method, route in methods.items()
        for line in _route(f"{method.upper()} {path}", route)
    ]
    shapes = [
        line
        for name, shape in schema.get("components", {}).get("schemas", {}).items()
        for line in (f"<h3>{escape(name)}</h3>", _as_json(shape))
    ]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<title>{title}</title>\n<link rel="icon" href="data:,">',
            '<link rel="stylesheet" href="workbench/page.css">\n</head>\n<body>',
            f"<header><h1>{title}</h1></header>\n<main>",
            '<p class="note">The same for programs: <a href="openapi.json">openapi.json</a> (OpenAPI).</p>',
            *routes,
            "<h2>Shapes</h2>",
            *shapes,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _route(name: str, route: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines on a route: what it does, its bodies, and what it returns by status."""
    yield f"<h2>{escape(name)}</h2>"
    yield f"<p>{escape(route.get('description', route['summary']))}</p>"
    for kind, body in route.get("requestBody", {}).get("content", {}).items():
        yield f"<details><summary>Body, {escape(kind)}</summary>{_as_json(body['schema'])}</details>"
    returned = [
        f"{status}: {one['description']} {_shape_of(one)}".strip() for status, one in route["responses"].items()
    ]
    yield f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in returned)}</ul>"


def _shape_of(answer: Mapping[str, Any]) -> str:
    """Return the name of the shape of an answer, if it has one."""
    named = (content.get("schema", {}).get("$ref", "") for content in answer.get("content", {}).values())
    return ", ".join(f"({name.rpartition('/')[2]})" for name in named if name)


def _as_json(shape: Mapping[str, Any]) -> str:
    return f'<pre tabindex="0">{escape(json.dumps(shape, indent=1, ensure_ascii=False))}</pre>'
