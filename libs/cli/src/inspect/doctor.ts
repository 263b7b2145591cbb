import { MeshError } from '@agentmesh/protocol';
import type { Command, Report, Surroundings } from '../command/command.ts';
import { keysVariable } from '../context/context-file.ts';
import { operatorOf } from '../context/surroundings.ts';
import { checkNats } from './check-nats.ts';
import { checkRedis } from './check-redis.ts';
import { checkSettings } from './check-settings.ts';
import { checkUses } from './check-uses.ts';
import { checkWork } from './check-work.ts';
import { type Checked, joined } from './finding.ts';

/** The command that looks for problems of a mesh. */
export const doctorCommand: Command = {
  usage: '',
  meaning:
    'looks for problems of a mesh: settings, servers, persistence, streams, clocks, queues, names of services; says what they may cost and what to do',
  more: 'It changes nothing; to see whether NATS can write, it stores a message in a stream of its own and removes it. The exit code is 1 when it finds a problem.',
  async run(_, around) {
    return reportOf(await examine(around));
  },
};

async function examine(around: Surroundings): Promise<Checked> {
  const settings = checkSettings(around);
  if (around.mesh.isOneProcess) {
    const message = `the mesh of ${around.mesh.source} runs in one process: there are no servers to check`;
    throw new MeshError('failed_precondition', message);
  }
  const { config } = settings;
  const address = operatorOf({ config });
  const [redis, nats] = await Promise.all([checkRedis(config), checkNats(address)]);
  const keys = around.mesh.env[keysVariable];
  // Without streams and cards there is nothing to look at.
  const isReady = !nats.findings.some(({ level }) => level === 'error');
  return joined([
    settings,
    redis,
    nats,
    ...(isReady ? [await checkWork(address), await checkUses(address, keys)] : []),
  ]);
}

function reportOf({ facts, findings }: Checked): Report {
  const lines = findings.flatMap(({ level, check, problem, cost, remedy }) => [
    `${level === 'error' ? '✗' : '!'} ${check}: ${problem}`,
    `    it may cost: ${cost}`,
    `    to mend it:  ${remedy}`,
  ]);
  const end = findings.length === 0 ? 'no problem was found' : `problems: ${findings.length}`;
  return { lines: [...facts, ...lines, end], json: { facts, findings }, failed: findings.length > 0 };
}
