// The process of a scripted model: a server with Gemini's interface and answers from a file of the user.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MeshError } from '@agentmesh/protocol';
import { runMain } from '@agentmesh/service';
import { type ModelScript, startScriptedGemini } from '@agentmesh/testing/scripted-gemini';

const [file = '', port = '0'] = process.argv.slice(2);

await runMain({
  name: 'model',
  async start(_config, { log }) {
    const server = await startScriptedGemini({ script: await scriptIn(file), port: Number(port) });
    const { hostname, port: chosen } = new URL(server.url);
    log.info({ addresses: [{ address: hostname, port: Number(chosen) }], script: file }, 'listening');
    return server;
  },
});

async function scriptIn(path: string): Promise<ModelScript> {
  const { script }: { script?: unknown } = await import(pathToFileURL(resolve(path)).href);
  if (typeof script === 'function') return script as ModelScript;
  throw new MeshError('invalid_argument', `${path} must export a function of the name script`);
}
