import { ok, ReplyError, Status } from '../reply.ts';
import type { Command, Commands } from './command.ts';

const agrees: Command = { arity: -1, run: () => ok };

/** Commands about the server and the connection. It is a primary without replicas, and no cluster. */
export const serverCommands: Commands = {
  ping: { arity: -1, run: () => new Status('PONG') },
  time: {
    arity: 1,
    run({ now }) {
      const seconds = Math.floor(now / 1_000);
      return [String(seconds), String(Math.floor((now - seconds * 1_000) * 1_000))];
    },
  },
  info: {
    arity: -1,
    run: () => '# Server\r\nredis_version:7.4.0\r\nredis_mode:standalone\r\nrole:master\r\n',
  },
  select: agrees,
  asking: agrees,
  readonly: agrees,
  readwrite: agrees,
  'client|setname': agrees,
  'acl|log': { arity: -2, run: () => [] },
  'cluster|slots': {
    arity: -2,
    run() {
      throw new ReplyError('ERR This instance has cluster support disabled');
    },
  },
  wait: { arity: 3, run: () => 0 },
};
