import { type ConfirmableBy, confirmableBySchema, MeshError, parse } from '@agentmesh/protocol';

/**
 * Reads who may answer a confirmation.
 *
 * @param owner the tool or function with the setting, for the error
 * @throws MeshError `invalid_argument` for a setting that limits nothing, or has an unknown field
 */
export function readConfirmableBy(owner: string, setting: unknown): ConfirmableBy {
  const policy = parse(confirmableBySchema, setting, `confirmableBy of ${owner}`);
  if (policy.roles || policy.notByAsker) return policy;
  throw new MeshError(
    'invalid_argument',
    `confirmableBy of ${owner} limits nothing: give it roles, notByAsker: true, or both`,
  );
}
