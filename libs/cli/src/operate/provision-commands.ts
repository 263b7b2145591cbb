import { createHash } from 'node:crypto';
import {
  natsAccounts,
  natsPasswordVariable,
  provisionConfig,
  provisionMesh,
  redisAcl,
  redisDefaultUser,
  redisPasswordVariable,
  redisPrefixOf,
} from '@agentmesh/mesh';
import { readDefinitions } from '@agentmesh/mesh/accounts';
import { MeshError } from '@agentmesh/protocol';
import { readConfig } from '@agentmesh/service';
import type { Commands, Report } from '../command/command.ts';

/** The commands that prepare NATS and Redis for the services of a project, by their words. */
export const provisionCommands: Commands = {
  provision: {
    usage: '<definitions>',
    meaning: 'makes the streams, consumers and buckets of NATS, and loads the functions of Redis',
    async run([file = ''], { config, mesh }) {
      const services = await readDefinitions(file);
      await provisionMesh(services, { ...config, ...provisionSettings(mesh.env) });
      const names = services.map(({ kind, name }) => ({ kind, name }));
      return {
        lines: [`provisioned: ${names.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`],
        json: names,
      };
    },
  },
  'rights nats': {
    usage: '<definitions>',
    meaning: 'prints the accounts for nats-server.conf; NATS_PASSWORD_… of its environment are the passwords',
    async run([file = ''], { config }) {
      const services = await readDefinitions(file);
      const password = (_user: string, service: string) => `$${natsPasswordVariable(service)}`;
      return fileReport(natsAccounts({ services, password, namespace: config.namespace }));
    },
  },
  'rights redis': {
    usage: '<definitions>',
    meaning: 'prints the users of Redis as an ACL file, with hashes of the passwords REDIS_PASSWORD_…',
    async run([file = ''], { config, env }) {
      const services = await readDefinitions(file);
      const prefix = config.redisPrefix ?? redisPrefixOf(config.namespace);
      const users = redisAcl({ services, prefix, passwordHash: (user) => passwordHash(env, user) });
      const missing = [...users.matchAll(/ #(REDIS_PASSWORD_\w+) /g)].map(([, name]) => name);
      if (missing.length > 0)
        throw new MeshError('invalid_argument', `set the passwords of the users: ${missing.join(', ')}`);
      return fileReport(`${redisDefaultUser}\n${users}`);
    },
  },
};

/** Returns a report of the text of a file. */
function fileReport(text: string): Report {
  return { lines: text.trimEnd().split('\n'), json: { text } };
}

/** Reads the settings of the provisioning step alone: the other variables were read with the configuration. */
function provisionSettings(env: NodeJS.ProcessEnv) {
  const names = Object.values(provisionConfig).map((setting) => setting.env);
  return readConfig(
    provisionConfig,
    Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name))),
  );
}

/** Returns the hash of a user's password, or the name of the variable that should hold the password. */
function passwordHash(env: NodeJS.ProcessEnv, user: string): string {
  const variable = redisPasswordVariable(user);
  const password = env[variable];
  return password ? createHash('sha256').update(password).digest('hex') : variable;
}
