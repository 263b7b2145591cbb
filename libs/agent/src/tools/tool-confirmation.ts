import { MeshError, type ToolConfirmation as WireConfirmation } from '@agentmesh/protocol';

/**
 * A person's yes or no to a call, for the function response that answers it. A plain object with these fields
 * works too.
 */
export class ToolConfirmation implements WireConfirmation {
  hint: string;
  confirmed: boolean;
  payload?: unknown;

  /** @throws MeshError `invalid_argument` when `confirmed` is neither true nor false */
  constructor({ hint = '', confirmed, payload }: { hint?: string; confirmed: boolean; payload?: unknown }) {
    if (typeof confirmed !== 'boolean')
      throw new MeshError('invalid_argument', 'a ToolConfirmation needs confirmed: true or false');
    this.hint = hint;
    this.confirmed = confirmed;
    if (payload !== undefined) this.payload = payload;
  }
}
