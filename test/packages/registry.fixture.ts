import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runServer } from 'verdaccio';

/** A registry of this machine. */
export interface Registry extends AsyncDisposable {
  url: string;
}

/**
 * Starts a registry on a free port. It takes our packages from anybody, and gets all other packages from the
 * registry that npm is configured to use.
 */
export async function startRegistry(folder: string): Promise<Registry> {
  await mkdir(folder, { recursive: true });
  const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'registry']);
  const ours = { access: '$all', publish: '$all', unpublish: '$all' };
  const server: Server = await runServer({
    configPath: join(folder, 'config.yaml'),
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd') } },
    uplinks: { upstream: { url: stdout.trim(), cache: true, maxage: '1h', timeout: '60s' } },
    packages: { agentmesh: ours, '@agentmesh/*': ours, '**': { access: '$all', proxy: 'upstream' } },
    log: { type: 'stdout', format: 'pretty', level: 'fatal' },
    web: { enable: false },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.close();
      if ('closeAllConnections' in server && typeof server.closeAllConnections === 'function')
        server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
