import { type MeshObserver, openObserver } from '@agentmesh/bus';
import { connectService, natsTlsOf, servePending } from '@agentmesh/mesh';
import { AsyncDisposableStack, MeshError } from '@agentmesh/protocol';
import { type MainContext, startProbes } from '@agentmesh/service';
import { openLimits } from './access/limit-requests.ts';
import { openAdmission } from './access/limit-runs.ts';
import { openAuthenticators } from './access/open-authenticators.ts';
import { startArtifactSweep } from './artifact-sweep.ts';
import { buildServer } from './build-server.ts';
import type { GatewayConfig } from './context/config.ts';
import { orderlyClose } from './http/close-server.ts';
import { showPending } from './http/pending-metrics.ts';
import { showQueues } from './http/queue-metrics.ts';
import { readCertificate } from './http/tls.ts';

/** Time before the end of the grace period at which waiting clients are disconnected, in ms. */
const closingMs = 2_000;
/** Longest time to connect the view of the mesh, in ms. */
const observerTimeoutMs = 3_000;

/**
 * Connects, and listens for requests until it is disposed. Then it takes no more requests, and lets the
 * requests in hand end.
 */
export async function startGateway(
  config: GatewayConfig,
  { log, replica, version }: Pick<MainContext, 'log' | 'replica' | 'version'>,
): Promise<AsyncDisposable> {
  const certificate = readCertificate(config);
  await using owners = new AsyncDisposableStack();
  const mesh = owners.use(await connectService('gateway', config, log, { replica }));
  const authenticators = openAuthenticators(config, { apiKeys: mesh.apiKeys, log });
  const limits = openLimits(config, { requestLimits: mesh.requestLimits, log });
  const admission = owners.use(openAdmission(config, { ...mesh, log }));
  let draining = false;
  const ready = async () => (draining ? ['stopping'] : await mesh.problems());
  owners.use(await startProbes({ config, ready, service: 'gateway', replica, version, log }));
  const pending = await servePending(mesh);
  owners.defer(() => pending.stop());
  const registration = await mesh.bus.register(
    { kind: 'gateway', name: 'gateway', version: version ?? '0.0.0', description: "ADK's REST interface" },
    [mesh.subjects.pending],
  );
  owners.defer(() => registration.stop());
  owners.use(startArtifactSweep(mesh, log));
  const observer = observerFor(config, owners);
  owners.use(showQueues({ mesh, observer, log }));
  owners.use(showPending({ mesh, log }));
  const stopping = new AbortController();
  const server = buildServer(
    { mesh, config, log, admission, observer, stopping: stopping.signal },
    { ...config, certificate, authenticators, limits },
  );
  const close = orderlyClose(server, stopping.signal);
  await server.listen({ port: config.httpPort, host: config.httpHost });
  owners.defer(async () => {
    draining = true;
    const giveUp = setTimeout(
      () =>
        stopping.abort(
          new MeshError(
            'unavailable',
            'this gateway stops; the run goes on: follow it at any other gateway from the last id on',
          ),
        ),
      Math.max(config.graceMs - closingMs, 0),
    );
    await close();
    clearTimeout(giveUp);
  });
  log.info({ addresses: server.addresses() }, 'listening');
  return owners.move();
}

/** Returns a function that connects the view of the mesh at its first call, and again after a failure. */
function observerFor(
  config: GatewayConfig,
  owners: Pick<InstanceType<typeof AsyncDisposableStack>, 'defer'>,
): () => Promise<MeshObserver> {
  let opened: Promise<MeshObserver> | undefined;
  let isOver = false;
  owners.defer(async () => {
    isOver = true;
    await (await opened?.catch(() => undefined))?.[Symbol.asyncDispose]();
  });
  const open = async () => {
    if (isOver) throw new MeshError('unavailable', 'this gateway stops; ask another one');
    return await openObserver({
      service: 'gateway',
      url: config.natsUrl,
      user: config.natsUser,
      pass: config.natsPassword?.reveal(),
      tls: natsTlsOf(config),
      credsFile: config.natsCreds,
      namespace: config.namespace,
      connectTimeoutMs: observerTimeoutMs,
    });
  };
  return async () => {
    opened ??= open();
    opened.catch(() => {
      opened = undefined;
    });
    return await opened;
  };
}
