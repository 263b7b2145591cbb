import { createHash } from 'node:crypto';
import {
  natsAccounts,
  natsPasswordVariable,
  provisionConfig,
  provisionMesh,
  redisAcl,
  redisPasswordVariable,
  redisPrefixOf,
} from '@agentmesh/mesh';
import { readDefinitions } from '@agentmesh/mesh/accounts';
import { MeshError } from '@agentmesh/protocol';
import { readConfig } from '@agentmesh/service';
import type { Command } from './surroundings.ts';
import { WrongUsage } from './wrong-usage.ts';

/** The commands that prepare NATS and Redis for the services of a project, by their words. */
export const provisionCommands: Record<string, Command> = {
  provision: {
    usage: '<definitions>',
    meaning: 'makes the streams, consumers and buckets of NATS, and loads the functions of Redis',
    async run([file], { config, print }) {
      const services = await readDefinitions(required(file, 'provision'));
      await provisionMesh(services, { ...config, ...provisionSettings() });
      print(`provisioned: ${services.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`);
    },
  },
  'rights nats': {
    usage: '<definitions>',
    meaning: 'prints the accounts for nats-server.conf; NATS_PASSWORD_… of its environment are the passwords',
    async run([file], { config, print }) {
      const services = await readDefinitions(required(file, 'rights nats'));
      const password = (user: string) => `$${natsPasswordVariable(user)}`;
      print(natsAccounts({ services, password, namespace: config.namespace }).trimEnd());
    },
  },
  'rights redis': {
    usage: '<definitions>',
    meaning: 'prints the users of Redis as an ACL file, with hashes of the passwords REDIS_PASSWORD_…',
    async run([file], { config, print }) {
      const services = await readDefinitions(required(file, 'rights redis'));
      const prefix = config.redisPrefix ?? redisPrefixOf(config.namespace);
      const users = redisAcl({ services, prefix, passwordHash });
      const missing = [...users.matchAll(/ #(REDIS_PASSWORD_\w+) /g)].map(([, name]) => name);
      if (missing.length > 0)
        throw new MeshError('invalid_argument', `set the passwords of the users: ${missing.join(', ')}`);
      print(`user default off\n${users.trimEnd()}`);
    },
  },
};

/** Reads the settings of the provisioning step alone: the other variables were read with the configuration. */
function provisionSettings() {
  const names = Object.values(provisionConfig).map(({ env }) => env);
  const env = Object.entries(process.env).filter(([name]) => names.includes(name));
  return readConfig(provisionConfig, Object.fromEntries(env));
}

/** Returns the hash of a user's password, or the name of the variable that should hold the password. */
function passwordHash(user: string): string {
  const variable = redisPasswordVariable(user);
  const password = process.env[variable];
  return password ? createHash('sha256').update(password).digest('hex') : variable;
}

function required(file: string | undefined, command: string): string {
  if (file) return file;
  throw new WrongUsage('name the definitions, a module or a JSON file', provisionCommands, command);
}
