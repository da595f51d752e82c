// Where the gateway is and what a client reports; the same as in gateway.py.
//
//     CLIENT [--era legacy|modern|auto] stdio COMMAND ARGS…
//     CLIENT [--era legacy|modern|auto] http URL [KEY]

export const TOOL = "execute_code";
export const ARGUMENTS = { code: "print('hi'); result = 6*7" };

export function gateway(args = process.argv.slice(2)) {
  let era;
  if (args[0] === "--era") [, era, ...args] = args;
  const [transport, target, ...rest] = args;
  if (!target || !["stdio", "http"].includes(transport)) {
    console.error("usage: [--era ERA] stdio COMMAND ARGS… | http URL [KEY]");
    process.exit(2);
  }
  if (transport === "stdio") return { era, command: target, args: rest };
  return { era, url: target, headers: rest[0] ? { Authorization: `Bearer ${rest[0]}` } : {} };
}

export function report(client, protocol, tools, result) {
  const found = {
    client,
    protocol,
    tools: tools.map((tool) => tool.name),
    structured: result.structuredContent ?? null,
    text: result.content.find((block) => block.type === "text")?.text ?? null,
    isError: result.isError ?? false,
  };
  console.log(JSON.stringify(found));
}
