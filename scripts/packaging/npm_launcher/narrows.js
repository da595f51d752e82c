#!/usr/bin/env node
"use strict";

// Starts the binary that the package for this platform holds. It was put there by npm, as an
// optional dependency; nothing is downloaded or run at install time.

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { optionalDependencies, version } = require("../package.json");

const FORWARDED_SIGNALS = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2"];

function fail(...lines) {
  for (const line of lines) {
    console.error(`narrows: ${line}`);
  }
  process.exit(1);
}

// Node.js names the C library that it runs with; it is another one on Alpine.
function hasGlibc() {
  return Boolean(process.report?.getReport().header.glibcVersionRuntime);
}

function findBinary() {
  const platform = `${process.platform}-${process.arch}`;
  const name = `narrows-${platform}`;
  try {
    return require.resolve(`${name}/bin/narrows`);
  } catch {
    // Said below, by what is missing.
  }
  const fromSource = "build it from source instead: cargo install --path crates/gateway --locked";
  if (!(name in optionalDependencies)) {
    const known = Object.keys(optionalDependencies).map((name) => name.replace("narrows-", ""));
    fail(`there is no package for ${platform}, only for ${known.join(", ")}`, fromSource);
  }
  if (process.platform === "linux" && !hasGlibc()) {
    fail(`the package for ${platform} needs glibc, which this system does not use`, fromSource);
  }
  fail(
    `the package ${name} is not installed`,
    `install it beside this one: npm install ${name}@${version}`,
    "npm leaves it out with --omit=optional, and when node_modules comes from another platform",
  );
}

const binary = findBinary();
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of FORWARDED_SIGNALS) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => fail(`cannot start ${binary}: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  // Whoever started us sees the same end as the binary's.
  process.exitCode = 128 + constants.signals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
