import { isReservedName } from '@agentmesh/agent/internal';
import { clientInputSchema, MeshError, parse, type RunCommandInput } from '@agentmesh/protocol';
import { agentCard } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { agentsOf } from './transfer-port.ts';

/**
 * Checks what a client gives beside its message. A tool of a toolset, and of an agent within the process of another
 * one, is not on a card: the run itself refuses a tool of its name.
 *
 * @throws MeshError `invalid_argument` for a value that does not fit, and for a tool with the name of a tool of the
 * framework or of an agent of the app
 */
export function checkClientInput(mesh: Mesh, app: string, input: RunCommandInput['client']): void {
  if (!input) return;
  const { tools = [] } = parse(clientInputSchema, input, 'client');
  if (tools.length === 0) return;
  const owners = new Map(
    [...agentsOf(mesh, app)].flatMap((agent) =>
      (agentCard(mesh, agent)?.tools ?? []).map((tool) => [tool, `agent ${agent} has`] as const),
    ),
  );
  for (const { name } of tools) {
    const owner = isReservedName(name) ? 'the framework has' : owners.get(name);
    if (owner !== undefined)
      throw new MeshError(
        'invalid_argument',
        `the client declares the tool ${name}, and ${owner} a tool of this name; rename one`,
      );
  }
}
