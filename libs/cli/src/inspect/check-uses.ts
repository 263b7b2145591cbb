import { connectNats, type OperatorOptions, openCards } from '@agentmesh/bus';
import type { ServiceManifest } from '@agentmesh/mesh';
import { openKeyFolder } from '@agentmesh/mesh/accounts';
import { MeshError, parse, provisionedSchema, subjects } from '@agentmesh/protocol';
import { missingServices } from '../local/missing-services.ts';
import type { Checked } from './finding.ts';

type Uses = Pick<ServiceManifest, 'kind' | 'name' | 'transfers' | 'asks' | 'calls'>;

/**
 * Checks that the mesh has the agents and tools that its agents name. The operator's keys come with all that the
 * agents name; without them NATS knows the agents to which they transfer.
 */
export async function checkUses(address: OperatorOptions, keys: string | undefined): Promise<Checked> {
  try {
    const users = keys ? await definedServices(keys, address.namespace) : await provisionedServices(address);
    await using cards = await openCards(address);
    const there = (await cards.list()).map(({ kind, name }) => usesOf(kind, name));
    const agents = users.filter(({ kind }) => kind === 'agent');
    const tools = users.filter(({ kind }) => kind === 'tool');
    const problems = missingServices([...agents, ...tools, ...there].map((manifest) => ({ manifest })));
    return {
      facts: [],
      findings: problems.map((problem) => ({
        check: 'uses',
        level: 'warning',
        problem,
        cost: 'the model of the agent does not see it, and answers without it',
        remedy: 'start the missing service, or correct the name in the definition',
      })),
    };
  } catch (error) {
    if (!(error instanceof MeshError)) throw error;
    return { facts: [`the names that agents use cannot be read: ${error.message}`], findings: [] };
  }
}

function usesOf(kind: 'agent' | 'tool', name: string, transfers: string[] = []): Uses {
  return { kind, name, transfers, asks: [], calls: [] };
}

async function definedServices(keys: string, namespace = 'mesh'): Promise<Uses[]> {
  return await (await openKeyFolder(keys)).mesh(namespace).services();
}

async function provisionedServices(address: OperatorOptions): Promise<Uses[]> {
  await using bus = await connectNats({ ...address, service: 'provision', cards: false });
  const records = bus.records(subjects(address.namespace).cardBucket);
  const keys = await records.keys('provisioned');
  const stored = await Promise.all(keys.map(async (key) => ({ key, ...(await records.read(key)) })));
  return stored.flatMap(({ key, value }) => {
    if (!value) return [];
    const { name, subAgents } = parse(provisionedSchema, JSON.parse(Buffer.from(value).toString()), key);
    return [usesOf('agent', name, subAgents)];
  });
}
