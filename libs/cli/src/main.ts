#!/usr/bin/env node
import { MeshError } from '@agentmesh/protocol';
import { createLogger, readConfig, serviceConfig } from '@agentmesh/service';
import { runCommand } from './commands.ts';

try {
  const log = createLogger({
    service: 'operator',
    replica: String(process.pid),
    level: 'warn',
    destination: process.stderr,
  });
  await runCommand(process.argv.slice(2), {
    config: readConfig(serviceConfig),
    log,
    print: (line) => void process.stdout.write(`${line}\n`),
  });
} catch (thrown) {
  process.stderr.write(`${MeshError.from(thrown).message}\n`);
  process.exitCode = 1;
}
