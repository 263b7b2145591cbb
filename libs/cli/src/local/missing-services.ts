import type { ServiceManifest } from '@agentmesh/mesh';
import { nearest } from '@agentmesh/protocol';

type Uses = Pick<ServiceManifest, 'kind' | 'name' | 'transfers' | 'asks' | 'calls'>;

/** Returns a sentence for each agent or tool that a service uses by name and that no service provides. */
export function missingServices(services: readonly { manifest: Uses }[]): string[] {
  const namesOf = (kind: 'agent' | 'tool') =>
    services.flatMap(({ manifest }) => (manifest.kind === kind ? manifest.name : []));
  const sentences = (user: string, kind: 'agent' | 'tool', used: readonly string[]) => {
    const known = namesOf(kind);
    return used
      .filter((name) => !known.includes(name))
      .map((name) => {
        const meant = nearest(name, known);
        const advice = meant ? `did you mean ${meant}?` : 'calls of it fail until one is started';
        return `${user} uses ${kind} ${name}, which none of these services is; ${advice}`;
      });
  };
  return services.flatMap(({ manifest: { name, transfers, asks, calls } }) => [
    ...sentences(name, 'agent', [...transfers, ...asks]),
    ...sentences(name, 'tool', calls),
  ]);
}
