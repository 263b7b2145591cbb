import { BaseArtifactService } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';

/**
 * The artifacts of a service whose definition uses none. The service has no rights on files, so every use is
 * refused, by an error that says what to change. The deletion of a session leaves its files to the gateway,
 * which sweeps the files of sessions that are gone.
 */
export class MeshNoArtifacts extends BaseArtifactService {
  readonly #service: string;

  /** @param service the name of the service on the bus: `agent_<name>`, `tool_<name>` */
  constructor(service: string) {
    super();
    this.#service = service;
  }

  protected override async store(): Promise<never> {
    throw this.#refusal();
  }

  protected override async open(): Promise<never> {
    throw this.#refusal();
  }

  protected override async versions(): Promise<never> {
    throw this.#refusal();
  }

  protected override async names(): Promise<never> {
    throw this.#refusal();
  }

  protected override async remove(_owner: unknown, filename?: string): Promise<number> {
    if (filename !== undefined) throw this.#refusal();
    return 0;
  }

  // biome-ignore lint/correctness/useYield: the contract is a generator, and there is nothing to yield.
  protected override async *owners(): AsyncGenerator<never> {
    throw this.#refusal();
  }

  #refusal(): MeshError {
    return new MeshError(
      'permission_denied',
      `${this.#service} may use no files; set usesArtifacts: true in the definition of its agent or tool, and write the accounts again`,
    );
  }
}
