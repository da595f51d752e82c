// The TypeScript client 2; see gateway.mjs for its arguments. Its own default is the legacy era.
import "./packages.mjs";
import { ARGUMENTS, TOOL, gateway, report } from "./gateway.mjs";

const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");

const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };

const to = gateway();
const transport = to.command
  ? new StdioClientTransport({ command: to.command, args: to.args, env: process.env })
  : new StreamableHTTPClientTransport(new URL(to.url), { requestInit: { headers: to.headers } });
const options = to.era ? { versionNegotiation: { mode: MODES[to.era] } } : {};
const client = new Client({ name: "narrows-test", version: "1.0.0" }, options);

await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: TOOL, arguments: ARGUMENTS });
report("typescript client", client.getNegotiatedProtocolVersion(), tools, result);
await client.close();
