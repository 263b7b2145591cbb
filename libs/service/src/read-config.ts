import { MeshError, nearest } from '@agentmesh/protocol';
import type { Variable } from './variable.ts';

/** The variables of a service, by their property names in its code. */
export type ConfigShape = Record<string, Variable<unknown>>;

/** The configuration that {@link readConfig} returns for a shape. */
export type Config<S extends ConfigShape> = {
  readonly [K in keyof S]: S[K] extends Variable<infer T> ? T : never;
};

export interface ConfigProblem {
  name: string;
  problem: string;
}

/**
 * Variables that tools read (the command agentmesh, bootstrap, tests) and that the services started by them
 * inherit. These variables belong to no service, and are no spelling mistakes.
 */
export const toolVariables: readonly string[] = [
  'MESH_DATA_DIR',
  'MESH_GATEWAY_URL',
  'MESH_GATEWAY_KEY',
  'MESH_KEYS',
  'MESH_NATS_BIN',
  'MESH_REDIS_BIN',
  'MESH_TEST_ACCOUNTS',
  'MESH_TEST_SERVERS',
  'MESH_TEST_TIER',
  'MESH_TEST_TIMES',
];

function unknownVariables(knownNames: readonly string[], env: NodeJS.ProcessEnv): ConfigProblem[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('MESH_') && !knownNames.includes(name) && !toolVariables.includes(name))
    .map((name) => {
      // For MESH_NATS_URL, NATS_URL: an extra prefix is likelier than a misspelled name.
      const bare = name.slice('MESH_'.length);
      const meant = knownNames.includes(bare) ? bare : nearest(name, knownNames);
      return { name, problem: meant ? `is not known; did you mean ${meant}?` : 'is not known; unset it' };
    });
}

/**
 * Reads a service's configuration from the environment, once, at start.
 *
 * @param shape its variables, most often `{ ...serviceConfig, port: variable('MESH_HTTP_PORT', …) }`
 * @param others variables of other processes that may be exported, and are no mistakes here
 * @throws MeshError `invalid_argument` that names every problem together, each with its variable; also in
 * `details.problems`. A `MESH_*` variable that the shape does not have is a problem too: a misspelled setting
 * must not be ignored silently.
 */
export function readConfig<S extends ConfigShape>(
  shape: S,
  env: NodeJS.ProcessEnv = process.env,
  others: readonly string[] = [],
): Config<S> {
  const values: Record<string, unknown> = {};
  const problems: ConfigProblem[] = [];
  for (const [property, declared] of Object.entries(shape)) {
    const result = declared.read(env[declared.env]);
    if ('value' in result) values[property] = result.value;
    else problems.push({ name: declared.env, problem: result.problem });
  }
  const knownNames = Object.values(shape).map((declared) => declared.env);
  problems.push(...unknownVariables(knownNames, env).filter(({ name }) => !others.includes(name)));
  if (problems.length > 0) {
    const problemText = problems.map(({ name, problem }) => `${name} ${problem}`).join('; ');
    throw new MeshError('invalid_argument', `the configuration is not valid: ${problemText}`, {
      details: { problems },
    });
  }
  // Safe: the values were read property by property from the shape of Config.
  return values as Config<S>;
}

export interface VariableDescription {
  name: string;
  meaning: string;
  default: string | undefined;
  required: boolean;
  secret: boolean;
}

/** Lists the variables of a shape, in order, for `docs/configuration.md` and `--help`. */
export function describeConfig(shape: ConfigShape): VariableDescription[] {
  return Object.values(shape).map(({ env, meaning, default: text, required, secret }) => ({
    name: env,
    meaning,
    default: text,
    required,
    secret,
  }));
}
