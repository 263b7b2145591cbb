import { MeshError } from '@agentmesh/protocol';

/** Refuses a value that is not a whole number above 0. @throws MeshError `invalid_argument` */
export function assertPositive(name: string, value: number): void {
  if (Number.isInteger(value) && value > 0) return;
  throw new MeshError('invalid_argument', `${name} must be a whole number above 0, not ${value}`);
}
