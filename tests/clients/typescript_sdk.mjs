// The client of the TypeScript SDK 1; see gateway.mjs for its arguments. It knows only the legacy era.
import "./packages.mjs";
import { ARGUMENTS, TOOL, gateway, report } from "./gateway.mjs";

const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");

const to = gateway();
const transport = to.command
  ? new StdioClientTransport({ command: to.command, args: to.args, env: process.env })
  : new StreamableHTTPClientTransport(new URL(to.url), { requestInit: { headers: to.headers } });

// The client tells the negotiated version to its transport only.
let protocol;
const tell = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  protocol = version;
  tell?.(version);
};

const client = new Client({ name: "narrows-test", version: "1.0.0" });
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: TOOL, arguments: ARGUMENTS });
report("typescript sdk", protocol, tools, result);
await client.close();
