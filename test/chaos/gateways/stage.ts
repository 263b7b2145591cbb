import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { latestFunctionResponses, startScriptedGemini } from '@agentmesh/testing';

/** Requests that a caller may send in a minute, where limits are on. */
export const perMinute = 1_200;

/** Starts a mesh with one agent, whose answers take a second and a half, and gateways with limits. */
export async function startStage(): Promise<{ mesh: LocalMesh } & AsyncDisposable> {
  await using owners = new AsyncDisposableStack();
  const model = await startScriptedGemini({
    script: (request) =>
      latestFunctionResponses(request).length === 0
        ? { calls: [{ name: 'get_stock_price', args: { ticker: 'GOOG' } }] }
        : { chunks: ['It ', 'stands ', 'high.'], chunkDelayMs: 500 },
  });
  owners.defer(() => model.close());
  Object.assign(process.env, {
    MESH_HTTP_AUTH: 'proxy',
    MESH_HTTP_PERSON_HEADER: 'X-User',
    MESH_HTTP_REQUESTS_PER_MINUTE: String(perMinute),
  });
  const mesh = owners.use(
    await launchMesh({
      services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
      env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted', MESH_MAX_CONCURRENCY: '200' },
    }),
  );
  const all = owners.move();
  return { mesh, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
