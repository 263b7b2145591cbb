import { type AgentCard, type Card, MeshError, type Provisioned } from '@agentmesh/protocol';

/** The agents of a mesh as they were provisioned, by name. */
export type ProvisionedAgents = ReadonlyMap<string, Provisioned>;

/** A card without the claims that its service may not make, and the reasons. */
export interface LimitedCard {
  card: Card;
  refusals: MeshError[];
}

/**
 * Removes from a card what its service was not provisioned for: an app, and sub-agents that are services. A
 * service writes its own card, so a service that was taken over may claim anything there. The texts that reach
 * prompts of other services come from the provisioning, too. The card of a service without a record keeps the
 * claims that concern no service with a record.
 */
export function limitCard(card: Card, agents: ProvisionedAgents): LimitedCard {
  if (card.kind !== 'agent' || agents.size === 0) return { card, refusals: [] };
  const record = agents.get(card.name);
  const refusals: MeshError[] = [];
  const limited: AgentCard = { ...card };
  if (card.app !== undefined && !mayServe(card.name, card.app, agents)) {
    delete limited.app;
    refusals.push(refusal(card.name, `to be the root of app ${card.app}`));
  }
  const foreign = card.subAgents.filter((name) => agents.has(name) && !record?.subAgents.includes(name));
  if (foreign.length > 0) {
    limited.subAgents = card.subAgents.filter((name) => !foreign.includes(name));
    refusals.push(refusal(card.name, `to have the sub-agents ${foreign.join(', ')}`));
  }
  if (!record) return { card: limited, refusals };
  const { description, globalInstruction } = record;
  limited.description = description ?? limited.description;
  delete limited.globalInstruction;
  if (globalInstruction !== undefined) limited.globalInstruction = globalInstruction;
  return { card: limited, refusals };
}

/** Tells whether an agent is the root of an app. Without an own app it may serve an app that nobody has. */
function mayServe(name: string, app: string, agents: ProvisionedAgents): boolean {
  const own = agents.get(name)?.app;
  if (own !== undefined) return own === app;
  return ![...agents.values()].some((other) => other.app === app);
}

function refusal(name: string, claim: string): MeshError {
  return new MeshError(
    'permission_denied',
    `agent ${name} claims ${claim}, for which it was not provisioned; the claim is ignored. If its definition has changed, run the provisioning step`,
  );
}
