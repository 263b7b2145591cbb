#!/usr/bin/env node
import { MeshError } from '@agentmesh/protocol';
import { createLogger, readConfig, serviceConfig } from '@agentmesh/service';
import { findCommand } from './commands.ts';
import { variablesOfOthers } from './variables-of-others.ts';
import { WrongUsage } from './wrong-usage.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);

/** Runs the command of the words. @throws MeshError */
async function main(words: readonly string[]): Promise<void> {
  const wish = findCommand(words);
  if ('help' in wish) {
    print(wish.help);
    return;
  }
  const log = createLogger({
    service: 'operator',
    replica: String(process.pid),
    level: 'warn',
    destination: process.stderr,
  });
  const config = readConfig(serviceConfig, process.env, variablesOfOthers);
  try {
    await wish.command.run(wish.args, { config, log, print });
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code !== 'unavailable') throw error;
    const advice =
      'is the mesh running? Start one with npm start, or set NATS_URL and REDIS_URL to those of yours';
    throw new MeshError('unavailable', `${error.message}\n${advice}`, { cause: thrown });
  }
}

try {
  await main(process.argv.slice(2));
} catch (thrown) {
  process.stderr.write(`${MeshError.from(thrown).message}\n`);
  process.exitCode = thrown instanceof WrongUsage ? 2 : 1;
}
