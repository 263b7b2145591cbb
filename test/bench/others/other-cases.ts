import type { Mesh } from '@agentmesh/mesh';
import type { AsyncDisposableStack } from '@agentmesh/protocol';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Case } from '../cases.ts';
import { hopCases } from '../hops/hop-cases.ts';
import { hops } from '../hops/hops.ts';
import { spawnAgents } from '../spawn-agents.ts';
import { echoService, moleculerCases, openBroker } from './moleculer.ts';
import { startPostgres } from './postgres.ts';
import { postgresCases } from './postgres-cases.ts';

interface Place {
  mesh: Mesh;
  raw: NatsConnection;
  natsUrl: string;
  redisUrl: string;
  /** Tells whether a case whose id begins so is wanted. */
  isWanted(group: string): boolean;
}

/** Makes the cases that need processes of their own, as far as they are wanted. The processes belong to `owners`. */
export async function otherCases(
  owners: InstanceType<typeof AsyncDisposableStack>,
  { mesh, raw, natsUrl, redisUrl, isWanted }: Place,
): Promise<Case[]> {
  const cases: Case[] = [];
  if (isWanted('moleculer')) {
    owners.use(await spawnAgents('others/moleculer-service.ts', natsUrl));
    const broker = openBroker('driver', natsUrl);
    owners.defer(() => broker.stop());
    await broker.start();
    await broker.waitForServices(echoService, 30_000);
    cases.push(...moleculerCases(broker));
  }
  if (isWanted('token')) {
    for (const hop of hops)
      owners.use(await spawnAgents('hops/hop-agent.ts', natsUrl, redisUrl, String(hop)));
    cases.push(...hopCases(mesh, raw));
  }
  if (isWanted('sessions')) {
    const postgres = await startPostgres();
    if (postgres) {
      owners.use(postgres);
      cases.push(...(await postgresCases(owners, mesh, postgres.url)));
    } else
      process.stderr.write(
        'PostgreSQL is not installed (apt-get install -y postgresql): two cases are left out\n',
      );
  }
  return cases;
}
