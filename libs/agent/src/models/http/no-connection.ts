import { MeshError } from '@agentmesh/protocol';

/** Our messages for those of fetch's errors: no connection; a connection that breaks within an answer. */
const messages: Record<string, (model: string, place: string, why: string) => string> = {
  'fetch failed': (model, place, why) =>
    `model ${model} cannot be reached at ${place}: ${why}; check the address and the network`,
  terminated: (model, place, why) =>
    `model ${model} has ended the connection within its answer at ${place}: ${why}`,
};

/** Tells whether there was no connection, or it broke before an answer. */
export function isNoConnection(error: unknown): boolean {
  return causesOf(error).some((each) => each instanceof TypeError && each.message === 'fetch failed');
}

/**
 * Returns the MeshError within an error of a client, for example of an answer that is cut; a MeshError `unavailable`
 * for an error of the connection to a model, with the model, its host and the cause; any other error as it is.
 *
 * @param url the address of the model's server
 */
export function fromConnection(error: unknown, { model, url }: { model: string; url: string }): unknown {
  const chain = causesOf(error);
  const known = chain.find((each) => each instanceof MeshError);
  if (known) return known;
  const broken = chain.find((each) => each instanceof TypeError && Object.hasOwn(messages, each.message));
  const words = messages[broken?.message ?? ''];
  if (!broken || !words) return error;
  const why =
    chain
      .slice(chain.indexOf(broken) + 1)
      .map(reasonOf)
      .find(Boolean) ?? broken.message;
  const place = URL.canParse(url) ? new URL(url).host : url;
  return new MeshError('unavailable', words(model, place, why), { cause: error });
}

/** Returns an error and its causes, from the outermost to the first one. */
function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

/** Returns the words of the system: an error for several addresses has a code and no message. */
function reasonOf(error: Error): string {
  const code = String(Reflect.get(error, 'code') ?? '');
  return error.message.includes(code) ? error.message : [code, error.message].filter(Boolean).join(' ');
}
