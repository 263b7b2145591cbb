import { existsSync } from 'node:fs';
import { type ModelScript, startScriptedGemini } from '@agentmesh/testing/scripted-gemini';
import type { Sample } from './samples.ts';

const root = new URL('../../', import.meta.url);
const scriptFile = 'src/script.fixture.ts';

/** The scripted models of a mesh on this machine. */
export interface ScriptedModels extends AsyncDisposable {
  /** Returns the environment of a service with a script; undefined for a service without a script. */
  environmentOf(sample: Sample): Record<string, string> | undefined;
}

/**
 * Starts a server with Gemini's interface for each service with a `src/script.fixture.ts`, in this process.
 * The services use the same client as for Gemini.
 *
 * @throws Error for a file that exports no script
 */
export async function startScriptedModels(services: readonly Sample[]): Promise<ScriptedModels> {
  await using servers = new AsyncDisposableStack();
  const urls = new Map<string, string>();
  for (const { folder } of services) {
    const file = new URL(`${folder}/${scriptFile}`, root);
    if (!existsSync(file)) continue;
    const server = servers.use(await startScriptedGemini({ script: await scriptIn(file) }));
    urls.set(folder, server.url);
  }
  const started = servers.move();
  return {
    environmentOf({ folder }) {
      const url = urls.get(folder);
      if (url === undefined) return undefined;
      // The client of Gemini requires a key. A script must not get a real key.
      return { MESH_MODEL: 'scripted', GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'scripted' };
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

async function scriptIn(file: URL): Promise<ModelScript> {
  const { script }: { script?: unknown } = await import(file.href);
  if (typeof script !== 'function') throw new Error(`${file.pathname} must export the function script`);
  // The types of a function cannot be checked before its first call.
  return script as ModelScript;
}
