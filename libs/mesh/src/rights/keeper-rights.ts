import { answerRight, credentialRight, type Subjects, signInRight } from '@agentmesh/protocol';
import { busName, type ServiceManifest, usesCredentials } from './service-manifest.ts';

/** Returns the requests that a service sends to keepers, for files and for credentials. */
export function keeperRequests(
  names: Subjects,
  manifest: ServiceManifest,
  all: readonly ServiceManifest[],
): string[] {
  const files = manifest.usesArtifacts ? [names.keeper(busName(manifest))] : [];
  return [...files, ...secretRequests(names, manifest, all)];
}

/** The services through which people's answers come. */
const bringsAnswers: readonly string[] = ['gateway', 'agent'] satisfies ServiceManifest['kind'][];

/**
 * Returns the requests for credentials: for those under the credential keys of the definition and for sign-ins of
 * the service, and for people's answers at gateways and agents, through which answers come.
 */
export function secretRequests(
  names: Subjects,
  manifest: ServiceManifest,
  all: readonly ServiceManifest[],
): string[] {
  const { kind, credentialKeys = [] } = manifest;
  const rights = [
    ...credentialKeys.map(credentialRight),
    ...(credentialKeys.length > 0 ? [signInRight] : []),
    ...(bringsAnswers.includes(kind) && all.some(usesCredentials) ? [answerRight] : []),
  ];
  return [...new Set(rights)].map((right) => names.secret(busName(manifest), right));
}
