"""Authorization servers, each with an MCP server that it protects, on free ports of loopback.

    oauth_server.py     starts one for every line of its input and prints its port; ends with its input

The MCP server is at /mcp, for the transport before 2025 at /sse, and has one tool, `whoami`. The authorization server is at /as: metadata
(RFC 8414), registration (RFC 7591), PKCE with S256, codes, and refresh tokens that work once; one
that is used again ends the whole login. It sends every browser back at once. Every secret that it
makes starts with `fake-`, so that a leak is easy to see.

POST /control changes the settings of `Settings`; {"revoke": true} ends all access tokens that are
out. GET /control tells the settings and what was asked so far. The client `preregistered` has the
secret `fake-client-secret`.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hashlib
import os
import secrets
import socket
import sys
import time
from collections import Counter
from typing import Any
from urllib.parse import unquote, urlencode

import mcp_types as types
import uvicorn
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

Context = ServerRequestContext[Any]
RESOURCES = ["/mcp", "/sse"]


@dataclasses.dataclass
class Settings:
    lifetime: int = 3600
    """Seconds that the next access tokens are good for."""
    no_metadata: bool = False
    """Nothing tells where to log in."""
    no_dcr: bool = False
    """Clients cannot register themselves."""
    dcr_secret: bool = False
    """Clients that register get a secret, whether they asked for one or not."""
    deny: bool = False
    """The user says no."""
    wrong_state: bool = False
    wrong_issuer: bool = False
    reject_refresh: bool = False
    one_token: bool = False
    """A refresh ends the access tokens that the login had before."""
    token_status: int = 200
    """Otherwise the token endpoint only answers with this."""
    token_delay: float = 0
    """Seconds that the token endpoint thinks."""
    needed_scope: str | None = None
    """What no token is good for."""
    static_key: str | None = None
    """A bearer key that is good without OAuth."""


@dataclasses.dataclass
class Client:
    secret: str | None
    redirects: list[str] | None  # None: anything on loopback


@dataclasses.dataclass
class Code:
    client: str
    redirect: str
    challenge: str
    resource: str


@dataclasses.dataclass
class Refresh:
    client: str
    family: str
    used: bool = False


class Authority:
    """The authorization server, and the guard in front of the MCP server."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.issuer = f"{origin}/as"
        self.settings = Settings()
        self.asked: Counter[str] = Counter()
        self.clients = {"preregistered": Client("fake-client-secret", None)}
        self.codes: dict[str, Code] = {}
        self.access: dict[str, tuple[float, str]] = {}
        self.refresh: dict[str, Refresh] = {}
        self.redirects: list[str] = []
        self.scopes: list[str | None] = []

    def routes(self) -> list[Route]:
        return [
            Route("/.well-known/oauth-protected-resource/{resource}", self.resource_metadata),
            Route("/.well-known/oauth-authorization-server/as", self.server_metadata),
            Route("/as/register", self.register, methods=["POST"]),
            Route("/as/authorize", self.authorize),
            Route("/as/token", self.token, methods=["POST"]),
            Route("/control", self.tell),
            Route("/control", self.change, methods=["POST"]),
        ]

    async def resource_metadata(self, request: Request) -> Response:
        resource = f"/{request.path_params['resource']}"
        if self.settings.no_metadata or resource not in RESOURCES:
            return Response(status_code=404)
        return JSONResponse({"resource": f"{self.origin}{resource}", "authorization_servers": [self.issuer]})

    async def server_metadata(self, _: Request) -> Response:
        if self.settings.no_metadata:
            return Response(status_code=404)
        metadata = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
        }
        if not self.settings.no_dcr:
            metadata["registration_endpoint"] = f"{self.issuer}/register"
        return JSONResponse(metadata)

    async def register(self, request: Request) -> Response:
        self.asked["register"] += 1
        if self.settings.no_dcr:
            return Response(status_code=404)
        asked = await request.json()
        name = f"client-{secrets.token_hex(4)}"
        secret = f"fake-secret-{secrets.token_hex(8)}" if self.settings.dcr_secret else None
        self.clients[name] = Client(secret, asked["redirect_uris"])
        answer = asked | {"client_id": name}
        if secret:
            answer |= {"client_secret": secret, "token_endpoint_auth_method": "client_secret_basic"}
        return JSONResponse(answer, 201)

    async def authorize(self, request: Request) -> Response:
        self.asked["authorize"] += 1
        query = request.query_params
        client, redirect = self.clients.get(query.get("client_id", "")), query.get("redirect_uri", "")
        on_loopback = redirect.startswith("http://127.0.0.1:")
        if client is None or not on_loopback or (client.redirects is not None and redirect not in client.redirects):
            return Response("this client or its redirect_uri is not known", 400)
        self.redirects.append(redirect)
        self.scopes.append(query.get("scope"))
        state = "another" if self.settings.wrong_state else query.get("state", "")
        issuer = "http://127.0.0.1:1/another" if self.settings.wrong_issuer else self.issuer
        back = {"state": state, "iss": issuer}
        if self.settings.deny:
            back |= {"error": "access_denied", "error_description": "the user said no"}
        elif query.get("response_type") != "code" or query.get("code_challenge_method") != "S256":
            back |= {"error": "invalid_request"}
        else:
            code = f"fake-code-{secrets.token_hex(8)}"
            self.codes[code] = Code(
                query["client_id"], redirect, query["code_challenge"], query.get("resource", "")
            )
            back["code"] = code
        return RedirectResponse(f"{redirect}?{urlencode(back)}", 302)

    async def token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        grant = form.get("grant_type", "")
        self.asked[grant] += 1
        await asyncio.sleep(self.settings.token_delay)
        if self.settings.token_status != 200:
            return Response("not now", self.settings.token_status)
        name, secret = self.credentials(request, form)
        client = self.clients.get(name)
        if client is None or client.secret != secret:
            return self.refuse("invalid_client", 401)
        if grant == "authorization_code":
            return self.exchange(name, form)
        if grant == "refresh_token":
            return self.renew(name, form)
        return self.refuse("unsupported_grant_type")

    def credentials(self, request: Request, form: dict[str, str]) -> tuple[str, str | None]:
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            name, _, secret = base64.b64decode(value).decode().partition(":")
            return unquote(name), unquote(secret)
        return form.get("client_id", ""), form.get("client_secret")

    def refuse(self, error: str, status: int = 400) -> Response:
        self.asked[error] += 1
        return JSONResponse({"error": error}, status)

    def exchange(self, client: str, form: dict[str, str]) -> Response:
        code = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            code is None
            or code.client != client
            or code.redirect != form.get("redirect_uri")
            or code.challenge != challenge
            or code.resource != form.get("resource")
            or code.resource.removeprefix(self.origin) not in RESOURCES
        ):
            return self.refuse("invalid_grant")
        return self.issue(client, secrets.token_hex(4))

    def renew(self, client: str, form: dict[str, str]) -> Response:
        old = self.refresh.get(form.get("refresh_token", ""))
        if self.settings.reject_refresh or old is None or old.client != client:
            return self.refuse("invalid_grant")
        if old.used:
            # Somebody has stolen it: nothing of this login is good any more.
            self.refresh = {key: value for key, value in self.refresh.items() if value.family != old.family}
            self.end_access(old.family)
            self.asked["refresh_token_used_twice"] += 1
            return self.refuse("invalid_grant")
        old.used = True
        if self.settings.one_token:
            self.end_access(old.family)
        return self.issue(client, old.family)

    def end_access(self, family: str) -> None:
        self.access = {key: value for key, value in self.access.items() if value[1] != family}

    def issue(self, client: str, family: str) -> Response:
        access, refresh = f"fake-access-{secrets.token_hex(8)}", f"fake-refresh-{secrets.token_hex(8)}"
        self.access[access] = (time.monotonic() + self.settings.lifetime, family)
        self.refresh[refresh] = Refresh(client, family)
        answer = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.settings.lifetime,
            "refresh_token": refresh,
        }
        return JSONResponse(answer, headers={"cache-control": "no-store"})

    def accepts(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer":
            return False
        if self.settings.static_key is not None and token == self.settings.static_key:
            return True
        if token in self.access and time.monotonic() < self.access[token][0]:
            return True
        self.asked["refused_token"] += 1
        return False

    def objection(self, scope: Scope) -> Response | None:
        """Why a request does not reach the MCP server."""
        authorization = dict(scope["headers"]).get(b"authorization", b"").decode()
        if not self.accepts(authorization):
            self.asked["unauthorized"] += 1
            told = "Bearer"
            if not self.settings.no_metadata:
                resource = scope["path"] if scope["path"] in RESOURCES else "/sse"
                told += f' resource_metadata="{self.origin}/.well-known/oauth-protected-resource{resource}"'
            return Response("go away", 401, {"www-authenticate": told})
        if needed := self.settings.needed_scope:
            told = f'Bearer error="insufficient_scope", scope="{needed}"'
            return Response("not you", 403, {"www-authenticate": told})
        return None

    async def tell(self, _: Request) -> Response:
        settings = dataclasses.asdict(self.settings)
        return JSONResponse(
            {"settings": settings, "asked": self.asked, "redirects": self.redirects, "scopes": self.scopes}
        )

    async def change(self, request: Request) -> Response:
        wanted = await request.json()
        if wanted.pop("revoke", False):
            self.access = {}
        self.settings = dataclasses.replace(self.settings, **wanted)
        return JSONResponse({})


def mcp_server(authority: Authority) -> Server[Any]:
    async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
        tool = types.Tool(name="whoami", description="Who is logged in.", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool])

    async def call_tool(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
        authority.asked["whoami"] += 1
        return types.CallToolResult(content=[types.TextContent(type="text", text="ada")])

    return Server("oauth-fixture", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)


class Guarded:
    """Sends everyone without a good token away from the MCP server."""

    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self.pages = Starlette(routes=authority.routes())
        self.server = mcp_server(authority)
        self.mcp = self.server.streamable_http_app()
        self.sse = SseServerTransport("/messages")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.mcp(scope, receive, send)
            return
        path = scope["path"]
        if path not in [*RESOURCES, "/messages"]:
            await self.pages(scope, receive, send)
        elif objection := self.authority.objection(scope):
            await objection(scope, receive, send)
        elif path == "/mcp":
            await self.mcp(scope, receive, send)
        elif path == "/messages":
            await self.sse.handle_post_message(scope, receive, send)
        elif scope["method"] == "GET":
            async with self.sse.connect_sse(scope, receive, send) as (read, write):
                await self.server.run(read, write, self.server.create_initialization_options())
        else:
            await Response(status_code=405)(scope, receive, send)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    servers = []
    while await loop.run_in_executor(None, sys.stdin.readline):
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        app = Guarded(Authority(f"http://127.0.0.1:{port}"))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        servers.append(asyncio.create_task(server.serve(sockets=[listener])))
        print(port, flush=True)
    os._exit(0)  # Nobody is left who waits for an answer.


if __name__ == "__main__":
    asyncio.run(serve())
