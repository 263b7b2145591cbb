import type { OptionNames } from '@agentmesh/protocol';
import type { NatsTls } from './tls.ts';

/** The address of a NATS server, with the credentials. */
export interface NatsAddress {
  /**
   * `nats://host:4222`, or several with commas between them; with `tls://` a server without TLS is refused. A
   * user and password in the URL apply when `user` is not set.
   */
  url: string;
  user?: string | undefined;
  pass?: string | undefined;
  /**
   * The file with the credentials of a user of an account (JWT form), instead of `user` and `pass`. It is
   * read again for each connection, so new credentials apply from the next connection on.
   */
  credsFile?: string | undefined;
  /** Only for addresses with `tls://`. */
  tls?: NatsTls | undefined;
}

export const natsAddressNames: OptionNames<NatsAddress> = {
  url: true,
  user: true,
  pass: true,
  credsFile: true,
  tls: true,
};
