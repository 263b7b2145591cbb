import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provision } from '@agentmesh/bus';
import { provisionedAgents, type ServiceManifest } from '@agentmesh/mesh';
import { AsyncDisposableStack, credentialKeysVariable } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { freePort } from '@agentmesh/testing';
import { keysVariable, type MeshVariables } from '../context/context-file.ts';
import { credentialKeysFor } from '../local/credential-keys.ts';
import { environmentOf } from '../local/environment.ts';
import { missingServices } from '../local/missing-services.ts';
import { watchOrphans } from '../local/orphan-watch.ts';
import { removeOtherCards } from '../local/remove-other-cards.ts';
import { modelProcessOf, modelVariables } from './dev-model.ts';
import { type DevOptions, unknownReplicas } from './dev-options.ts';
import { type DevServers, startDevServers } from './dev-servers.ts';
import { DevService } from './dev-service.ts';
import { importedFiles } from './imported-files.ts';
import { findPython, ownProgram } from './own-program.ts';
import { changesServices, findServices, type ProjectService } from './project.ts';
import { type DefinedService, readManifests } from './read-manifests.ts';

/** A service of the project that runs. */
interface Running {
  defined: DefinedService;
  service: DevService;
}

/** The differences between processes. */
interface ServiceSettings {
  args?: () => string[];
  /** Default 1. */
  replicas?: number;
  isGateway?: boolean;
  isKeeper?: boolean;
  isAgent?: boolean;
  isPython?: boolean;
}

/** The settings that are chosen when the dev loop starts. */
interface Choice {
  /** `none`: all services and the gateway run in one process. */
  servers: 'local' | 'docker' | 'none';
  gatewayPort: number;
}

/** The processes of a project, each of which is started again when its files change. */
export class DevLoop implements AsyncDisposable {
  readonly #options: DevOptions;
  readonly #choice: Choice;
  readonly #owners = new AsyncDisposableStack();
  readonly #stopping = new AbortController();
  /** The services by their folders. */
  readonly #running = new Map<string, Running>();
  #servers: DevServers | undefined;
  #provisioned = '';
  #credentialKeys = '';
  #modelPort = 0;
  #others: DevService[] = [];
  #definitions: DefinedService[] = [];
  /** The services of the last look, also those whose definitions cannot be read. */
  #found: ProjectService[] = [];
  /** The end of the work on earlier changes: changes are worked on one after the other. */
  #idle: Promise<void> = Promise.resolve();

  constructor(options: DevOptions, choice: Choice) {
    this.#options = options;
    this.#choice = choice;
  }

  /** The variables by which commands reach this mesh. */
  get variables(): MeshVariables {
    const keys = this.#servers && { [keysVariable]: this.#servers.keys };
    return {
      ...this.#servers?.variables,
      ...keys,
      MESH_GATEWAY_URL: `http://127.0.0.1:${this.#choice.gatewayPort}`,
    };
  }

  get definitions(): readonly DefinedService[] {
    return this.#definitions;
  }

  /** Starts the servers, the model, the gateway and all services. */
  async start(): Promise<void> {
    const { folder, env, model, replicas, log, signal } = this.#options;
    signal.addEventListener('abort', () => this.#stopping.abort(), { once: true });
    const { servers } = this.#choice;
    const watch = { restarts: true, say: log.say, signal: this.#stopping.signal };
    if (servers !== 'none')
      this.#servers = this.#owners.use(await startDevServers(join(folder, 'data'), servers, watch));
    // Without servers, people's credentials end with the process.
    const keysFolder = servers === 'none' ? undefined : join(folder, 'data');
    this.#credentialKeys = env[credentialKeysVariable] || (await credentialKeysFor(keysFolder));
    this.#owners.defer(() => this.#stopServices());
    const ofModel = modelProcessOf(model, () => this.#modelPort);
    if (ofModel) {
      this.#modelPort = await freePort();
      this.#others.push(this.#service('model', ownProgram(ofModel.program), { args: ofModel.args }));
    }
    await this.#readDefinitions();
    for (const { folder: tool, isPython } of servers === 'none' ? this.#definitions : [])
      if (isPython)
        log.say(`${tool} is Python and needs NATS, which one process does not have: it is not started`);
    if (servers === 'none') this.#others.push(this.#oneProcess());
    else {
      const main = fileURLToPath(import.meta.resolve('@agentmesh/gateway/main'));
      this.#others.push(this.#service('gateway', main, { isGateway: true }));
      // It alone has the keys of credentials. Services that join get files from it; those of the project share a login.
      const keeper = fileURLToPath(import.meta.resolve('@agentmesh/keeper/main'));
      this.#others.push(this.#service('keeper', keeper, { isKeeper: true }));
    }
    await Promise.all([...this.#others.map((each) => each.start()), this.#runServices(() => false)]);
    const names = this.#definitions.map(({ manifest }) => manifest.name);
    for (const sentence of unknownReplicas(replicas, names)) log.say(sentence);
    this.#watchOrphans();
  }

  /** Starts the services again whose files are among the changed ones, and starts and stops new and old ones. */
  change(files: ReadonlySet<string>): Promise<void> {
    const { log } = this.#options;
    this.#idle = this.#idle
      .then(() => this.#change(files))
      .catch((error: unknown) => log.say(error instanceof Error ? error.message : String(error)));
    return this.#idle;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#idle;
    await this.#owners.disposeAsync();
  }

  async #change(files: ReadonlySet<string>): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { model, root } = this.#options;
    const isUsed = (main: string) => [...importedFiles(main)].some((file) => files.has(file));
    const programs = this.#found.flatMap(({ main, definition }) => [main, definition]);
    if (model.kind === 'scripted') programs.push(model.file);
    const mayMend = changesServices(root, files);
    // Other files change no service, such as one to which our own output goes.
    if (!mayMend && !programs.some(isUsed)) return;
    const found = findServices(root);
    const isChanged = found.some(({ folder, main, definition }) => {
      return (mayMend && !this.#isKnown(folder)) || isUsed(main) || isUsed(definition);
    });
    const isGone = this.#definitions.some(({ folder }) => !found.some((each) => each.folder === folder));
    const restarts: Promise<void>[] = [];
    if (model.kind === 'scripted' && isUsed(model.file)) restarts.push(this.#other('model').restart());
    if (isChanged || isGone) {
      const broken = await this.#readDefinitions();
      // A process with a broken definition would not start again.
      if (this.#choice.servers !== 'none')
        restarts.push(this.#runServices(({ folder, main }) => !broken.has(folder) && isUsed(main)));
      else if (broken.size === 0) restarts.push(this.#other('mesh').restart());
    }
    await Promise.all(restarts);
  }

  #isKnown(folder: string): boolean {
    return this.#definitions.some((each) => each.folder === folder);
  }

  /** Reads the definitions and provisions what is new. Returns the folders of those that cannot be read. */
  async #readDefinitions(): Promise<Set<string>> {
    const { root, log } = this.#options;
    const found = findServices(root);
    this.#found = found;
    const { services, problems } = await readManifests(found, { root, env: this.#environment('other') });
    for (const problem of problems) log.say(problem);
    // A service whose definition cannot be read at present runs on as it was.
    const isRead = (folder: string) => services.some((each) => each.folder === folder);
    const broken = new Set(found.map(({ folder }) => folder).filter((folder) => !isRead(folder)));
    const kept = this.#definitions.filter(({ folder }) => broken.has(folder));
    this.#definitions = [...services, ...kept];
    for (const sentence of missingServices(this.#definitions)) log.say(sentence);
    await this.#provision(this.#definitions.map(({ manifest }) => manifest));
    return broken;
  }

  async #provision(manifests: readonly ServiceManifest[]): Promise<void> {
    const state = JSON.stringify(manifests);
    if (!this.#servers || state === this.#provisioned) return;
    const { credsFile, variables } = this.#servers;
    const { NATS_URL: url = '', REDIS_URL = '' } = variables;
    const joined = await this.#servers.setServices(manifests);
    const namesOf = (kind: 'agent' | 'tool') =>
      manifests.flatMap((each) => (each.kind === kind ? each.name : []));
    // Loads the functions of Redis.
    if (this.#provisioned === '') await (await connectRedisStore({ url: REDIS_URL }))[Symbol.asyncDispose]();
    await provision({
      ...{ url, credsFile, agents: namesOf('agent'), tools: namesOf('tool') },
      services: provisionedAgents(manifests),
    });
    if (this.#provisioned === '') await removeOtherCards({ url, credsFile }, [...manifests, ...joined]);
    this.#provisioned = state;
  }

  /** Starts and stops processes until they are those of the definitions; restarts the changed services. */
  async #runServices(isChanged: (service: DefinedService) => boolean): Promise<void> {
    if (this.#choice.servers === 'none') return;
    const gone = [...this.#running].filter(([folder, { defined }]) => {
      const now = this.#definitions.find((each) => each.folder === folder);
      return now?.manifest.name !== defined.manifest.name;
    });
    await Promise.all(
      gone.map(async ([folder, { service }]) => {
        this.#running.delete(folder);
        await service.stop();
        this.#options.log.say(`${service.name} is stopped: its definition is gone`);
      }),
    );
    await Promise.all(
      this.#definitions.map(async (defined) => {
        const running = this.#running.get(defined.folder);
        if (!running) return await this.#run(defined).start();
        if (isChanged(defined)) await running.service.restart();
      }),
    );
  }

  #run(defined: DefinedService): DevService {
    const { kind, name } = defined.manifest;
    const service = this.#service(name, defined.main, {
      isAgent: kind === 'agent',
      isPython: defined.isPython === true,
      replicas: this.#options.replicas.get(name) ?? 1,
    });
    this.#running.set(defined.folder, { defined, service });
    return service;
  }

  #oneProcess(): DevService {
    // A tool in Python needs a connection to NATS.
    const args = () => this.#definitions.flatMap(({ isPython, definition }) => (isPython ? [] : definition));
    return this.#service('mesh', ownProgram('one-process'), { args, isGateway: true, isAgent: true });
  }

  #service(name: string, main: string, { args, replicas = 1, ...kind }: ServiceSettings): DevService {
    const { root, log } = this.#options;
    return new DevService({
      ...{ name, main, folder: root, onLine: log.onLine, say: log.say, signal: this.#stopping.signal },
      replicas,
      env: () => this.#envOf(kind),
      ...(args && { args }),
      ...(kind.isPython && { runtime: findPython }),
    });
  }

  #envOf({ isGateway, isKeeper, isAgent, isPython }: ServiceSettings): NodeJS.ProcessEnv {
    const processUrl = this.#modelPort === 0 ? undefined : `http://127.0.0.1:${this.#modelPort}`;
    return {
      ...this.#environment(isGateway ? 'gateway' : 'other'),
      // In one process there is no keeper.
      ...((isKeeper || !this.#servers) && { [credentialKeysVariable]: this.#credentialKeys }),
      ...(isAgent && modelVariables(this.#options.model, processUrl, this.#options.env)),
      ...(isPython && { PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' }),
      ...(isGateway && { MESH_HTTP_PORT: String(this.#choice.gatewayPort) }),
    };
  }

  #environment(kind: 'gateway' | 'other'): NodeJS.ProcessEnv {
    const isFine = ['debug', 'trace'].includes(this.#options.level);
    return {
      ...environmentOf(kind, this.#options.env),
      ...this.#servers?.variables,
      // Node's experiments are not the user's: a warning of each process would hide those of the services.
      NODE_OPTIONS: [this.#options.env.NODE_OPTIONS, '--disable-warning=ExperimentalWarning']
        .filter(Boolean)
        .join(' '),
      MESH_LOG_FORMAT: 'json',
      MESH_LOG_LEVEL: isFine ? this.#options.level : 'info',
    };
  }

  #other(name: string): DevService {
    const service = this.#others.find((each) => each.name === name);
    if (!service) throw new Error(`the dev loop has no process ${name}`);
    return service;
  }

  #watchOrphans(): void {
    if (!this.#servers) return;
    const { credsFile, variables } = this.#servers;
    const { say } = this.#options.log;
    const known = () => this.#definitions.map(({ manifest }) => manifest.name);
    const address = { url: variables.NATS_URL ?? '', credsFile };
    this.#owners.use(watchOrphans({ address, known, say, signal: this.#stopping.signal }));
  }

  async #stopServices(): Promise<void> {
    const services = [...this.#others, ...[...this.#running.values()].map(({ service }) => service)];
    await Promise.all(services.map((service) => service.stop()));
  }
}
