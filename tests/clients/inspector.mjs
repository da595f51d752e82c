// Inspector's command line; see gateway.mjs for its arguments. Its own default is the legacy era.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tools as installed } from "./packages.mjs";
import { ARGUMENTS, TOOL, gateway, report } from "./gateway.mjs";

const to = gateway();
const program = join(installed, "node_modules/.bin/mcp-inspector");
// It keeps catalogues and tokens in the home directory, which is not its own here.
const home = mkdtempSync(join(tmpdir(), "narrows-inspector-"));

function target() {
  if (to.url) {
    const headers = Object.entries(to.headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
    return ["--transport", "http", "--server-url", to.url, ...headers];
  }
  const handed = Object.entries(process.env).filter(([name]) => name === "HOME" || name.startsWith("NARROWS_"));
  const environment = handed.flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  return [...environment, "--transport", "stdio", "--", to.command, ...to.args];
}

function inspect(method, ...options) {
  const era = to.era ? ["--protocol-era", to.era] : [];
  const args = ["--cli", "--format", "json", "--quiet", "--stored-auth-only", ...era, "--method", method, ...options];
  const run = spawnSync(process.execPath, [program, ...args, ...target()], {
    encoding: "utf8",
    env: { ...process.env, HOME: home },
  });
  let answer;
  try {
    answer = JSON.parse(run.stdout);
  } catch {
    // Told below: what it says instead is on standard error.
  }
  // A tool that reports an error has a result, and an exit code other than 0.
  if (answer?.result === undefined) {
    throw new Error(`inspector ${method} ended with ${run.status}: ${run.stdout}${run.stderr}`);
  }
  return answer.result;
}

try {
  const { protocolVersion } = inspect("initialize");
  const { tools } = inspect("tools/list");
  const result = inspect("tools/call", "--tool-name", TOOL, "--tool-args-json", JSON.stringify(ARGUMENTS));
  report("inspector", protocolVersion, tools, result);
} finally {
  rmSync(home, { recursive: true, force: true });
}
