import { statSync } from 'node:fs';
import { MeshError } from '@agentmesh/protocol';
import { type ConfigProblem, readConfig, type ServiceConfig, serviceConfig } from '@agentmesh/service';
import type { Surroundings } from '../command/command.ts';
import { variablesOfOthers } from '../context/variables-of-others.ts';
import type { Checked, Finding } from './finding.ts';

/** Checks the settings of the environment and of the context file. Returns what is left of them, too. */
export function checkSettings({ mesh }: Pick<Surroundings, 'mesh'>): Checked & { config: ServiceConfig } {
  const { env, source } = mesh;
  const problems = problemsIn(env);
  const usable = Object.entries(env).filter(([name]) => !problems.some((each) => each.name === name));
  const config = readConfig(serviceConfig, Object.fromEntries(usable), variablesOfOthers);
  const findings = problems.map(
    ({ name, problem }): Finding => ({
      check: 'settings',
      level: 'error',
      problem: `${name} ${problem}`,
      cost: 'a service with this variable does not start',
      remedy: `correct ${name} or unset it; docs/configuration.md lists all settings`,
    }),
  );
  return {
    facts: [`the settings come from ${source}`],
    findings: [...findings, ...fileFindings(source)],
    config,
  };
}

function problemsIn(env: NodeJS.ProcessEnv): ConfigProblem[] {
  try {
    readConfig(serviceConfig, env, variablesOfOthers);
    return [];
  } catch (error) {
    const { problems } = MeshError.from(error).details as { problems?: ConfigProblem[] };
    if (!problems) throw error;
    return problems;
  }
}

/** Checks that nobody else may read the context file, which holds passwords. */
function fileFindings(source: string): Finding[] {
  const mode = source.endsWith('.json') ? statSync(source).mode & 0o077 : 0;
  if (mode === 0 || process.platform === 'win32') return [];
  return [
    {
      check: 'context-file',
      level: 'warning',
      problem: `other users of this machine may use ${source}`,
      cost: 'they may log in to NATS and Redis with all rights of the file',
      remedy: `chmod 600 ${source}, and change its passwords`,
    },
  ];
}
