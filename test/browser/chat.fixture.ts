import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '../..');
const types: Record<string, string> = { html: 'text/html', mjs: 'text/javascript', js: 'text/javascript' };

/** Serves the example chat as a newcomer does: its two files, and the installed client. */
export async function serveChat(): Promise<{ origin: string; [Symbol.dispose](): void }> {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'libs/client/src/index.ts')],
    ...{ bundle: true, format: 'esm', platform: 'browser', write: false },
  });
  const client = outputFiles[0]?.contents ?? '';
  const server = createServer(async ({ url = '/' }, response) => {
    const path = url === '/' ? '/index.html' : url;
    const isClient = path === '/node_modules/@agentmesh/client/dist/index.js';
    const file = join(root, 'docs/examples/chat', path.split('/').at(-1) ?? '');
    const content = isClient ? client : await readFile(file).catch(() => undefined);
    const type = types[path.split('.').at(-1) ?? ''] ?? 'text/plain';
    response.writeHead(content === undefined ? 404 : 200, { 'content-type': `${type}; charset=utf-8` });
    response.end(content);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() };
}
