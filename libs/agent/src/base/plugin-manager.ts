import { MeshError } from '@agentmesh/protocol';
import { BasePlugin } from './base-plugin.ts';

/** The hooks of a plugin by name. */
export type PluginHook = Exclude<keyof BasePlugin, 'name'>;

/** The plugins of a runner, called in the order of their registration. */
export class PluginManager {
  readonly #plugins: BasePlugin[] = [];

  /** @throws MeshError `invalid_argument` for two plugins of one name, or an object that is not a plugin */
  constructor(plugins: readonly BasePlugin[] = []) {
    const stranger = plugins.find((plugin) => !(plugin instanceof BasePlugin));
    if (stranger !== undefined)
      throw new MeshError('invalid_argument', 'a plugin must extend BasePlugin; one in the list does not');
    for (const plugin of plugins) this.registerPlugin(plugin);
  }

  registerPlugin(plugin: BasePlugin): void {
    if (this.getPlugin(plugin.name)) {
      throw new MeshError('invalid_argument', `two plugins are called ${plugin.name}; give one another name`);
    }
    this.#plugins.push(plugin);
  }

  getPlugin(name: string): BasePlugin | undefined {
    return this.#plugins.find((plugin) => plugin.name === name);
  }

  /** Tells whether any plugin has this hook. */
  has(hook: PluginHook): boolean {
    return this.#plugins.some((plugin) => plugin[hook] !== BasePlugin.prototype[hook]);
  }

  /**
   * Calls one hook of the plugins in order, until one returns a value.
   *
   * @throws MeshError `internal` that names the plugin and the hook, with the plugin's error as the cause
   */
  run<H extends PluginHook>(
    hook: H,
    params: Parameters<BasePlugin[H]>[0],
  ): Promise<Awaited<ReturnType<BasePlugin[H]>> | undefined> {
    return this.#plugins.length === 0 ? noResult : this.#runAll(hook, params);
  }

  async #runAll<H extends PluginHook>(
    hook: H,
    params: Parameters<BasePlugin[H]>[0],
  ): Promise<Awaited<ReturnType<BasePlugin[H]>> | undefined> {
    for (const plugin of this.#plugins) {
      const result = await callHook(plugin, hook, params);
      if (result !== undefined && result !== null) return result;
    }
    return undefined;
  }
}

const noResult = Promise.resolve(undefined);

async function callHook<H extends PluginHook>(
  plugin: BasePlugin,
  hook: H,
  params: Parameters<BasePlugin[H]>[0],
): Promise<Awaited<ReturnType<BasePlugin[H]>>> {
  try {
    // All hooks have the same form: one parameter object, a promise as the result.
    const call = plugin[hook] as (of: unknown) => ReturnType<BasePlugin[H]>;
    return await call.call(plugin, params);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MeshError('internal', `plugin ${plugin.name} failed in ${hook}: ${why}`, { cause });
  }
}
