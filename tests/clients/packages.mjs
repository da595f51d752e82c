// Finds npm packages where scripts/install-test-tools put them, which is beside the pinned Node that
// runs these scripts and not beside the scripts. NARROWS_TEST_TOOLS says otherwise.
import { registerHooks } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

export const tools = resolve(process.env.NARROWS_TEST_TOOLS ?? join(dirname(process.execPath), "../../.."));

const parentURL = pathToFileURL(join(tools, "package.json")).href;
const ours = dirname(import.meta.url);

registerHooks({
  resolve(specifier, context, next) {
    const bare = !/^(\.|\/|node:|file:)/.test(specifier);
    return next(specifier, bare && context.parentURL?.startsWith(ours) ? { ...context, parentURL } : context);
  },
});
