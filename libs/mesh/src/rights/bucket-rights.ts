import type { Subjects } from '@agentmesh/protocol';

/**
 * Returns the rights to read cards, without a consumer: a service that may make consumers may have the server
 * deliver to any subject.
 */
export function cardRights({ cardBucket }: Subjects): string[] {
  const stream = `KV_${cardBucket}`;
  return [`$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.MSG.GET.${stream}`];
}

/**
 * Returns the rights of gateways and keepers to use any file of any user: NATS does not know the owner of a file.
 * No process may make or delete streams, or make consumers.
 */
export function artifactRights({ artifactBucket }: Subjects): string[] {
  const verbs = ['INFO', 'MSG.GET', 'PURGE'];
  return [
    `$KV.${artifactBucket}.>`,
    ...streamRights(`KV_${artifactBucket}`, verbs),
    ...objectRights(artifactBucket, verbs),
  ];
}

/**
 * Returns the rights to write and read claims: any message that a service sends or receives may be too large for the
 * bus. The payloads are encrypted, nobody needs a list of them, and no service may remove those of others: they
 * expire.
 */
export function claimRights({ claimBucket }: Subjects): string[] {
  return [claimBucket('news'), claimBucket('work')].flatMap((bucket) => objectRights(bucket, ['MSG.GET']));
}

function objectRights(bucket: string, verbs: readonly string[]): string[] {
  return [`$O.${bucket}.C.*`, `$O.${bucket}.M.*`, ...streamRights(`OBJ_${bucket}`, verbs)];
}

function streamRights(stream: string, verbs: readonly string[]): string[] {
  return verbs.map((verb) => `$JS.API.STREAM.${verb}.${stream}`);
}
