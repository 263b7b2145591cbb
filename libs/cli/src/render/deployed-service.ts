import { busName, gatewayManifest, hasKeeper, keeperManifest, type ServiceManifest } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';

/** A service as the files of a deployment name it. */
export interface DeployedService {
  /** The name in Kubernetes and in Compose. */
  name: string;
  /** The user of NATS and Redis. */
  user: string;
  manifest: ServiceManifest;
  /** The image without its tag. */
  image: string;
  /** The arguments of the image; default those of the image itself. */
  args?: readonly string[];
  /** True for a tool in Python: it uses NATS alone, and has no HTTP server that tells its health. */
  isPython?: boolean;
}

/** A service of a project: the facts of its definition, and its program from the root of the project. */
export interface ProgramOfProject {
  manifest: ServiceManifest;
  program: string;
  isPython?: boolean;
}

/** Returns a program of the library, as arguments of Node. */
const programOf = (module: string) => ['--input-type=module', '--eval', `import ${JSON.stringify(module)}`];

/** Names that the other parts of a deployment have. */
const reserved = ['gateway', 'keeper', 'nats', 'redis', 'provision', 'mesh'];

/**
 * Returns the services of a project and the gateway, and a keeper if one of them uses files or credentials: all in one image, and
 * tools in Python in a second one.
 *
 * @throws MeshError `failed_precondition` for a name that Kubernetes does not allow, and for one name twice
 */
export function deployedServices(programs: readonly ProgramOfProject[], image: string): DeployedService[] {
  const gateway = {
    name: 'gateway',
    user: 'gateway',
    manifest: gatewayManifest,
    image,
    args: programOf('agentmesh/gateway'),
  };
  const keeper = {
    ...{ name: keeperManifest.name, user: busName(keeperManifest), manifest: keeperManifest, image },
    args: programOf('agentmesh/keeper'),
  };
  const services = programs.map(({ manifest, program, isPython = false }) => ({
    name: nameOf(manifest),
    user: busName(manifest),
    ...{ manifest, image: isPython ? `${image}-python` : image, args: [program], isPython },
  }));
  for (const [at, service] of services.entries()) {
    const others = services.slice(0, at);
    assertName(service, others);
  }
  const isNeeded = hasKeeper(programs.map(({ manifest }) => manifest));
  return [gateway, ...(isNeeded ? [keeper] : []), ...services];
}

/** Returns the name of the service of an agent or a tool in Kubernetes and in Compose. */
export function nameOf({ kind, name }: ServiceManifest): string {
  const words = name.replaceAll('_', '-');
  return kind === 'tool' ? `${words}-tool` : words;
}

function assertName({ name, manifest }: DeployedService, others: readonly DeployedService[]): void {
  const what = `${manifest.kind} ${manifest.name}`;
  if (!/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name))
    throw refused(
      what,
      `${name} is no name of Kubernetes: use small letters, digits and single _ between them, 63 at most`,
    );
  if (reserved.includes(name)) throw refused(what, `${name} is another part of the deployment; rename it`);
  const other = others.find((each) => each.name === name);
  if (other)
    throw refused(what, `${other.manifest.kind} ${other.manifest.name} is also called ${name}; rename one`);
}

function refused(what: string, why: string): MeshError {
  return new MeshError('failed_precondition', `${what} cannot be rendered: ${why}`);
}

/** Returns the name of the Secret of a user in Kubernetes. */
export function secretOf(server: 'nats' | 'redis', user: string): string {
  return `${server}-${user.replaceAll('_', '-')}`;
}
