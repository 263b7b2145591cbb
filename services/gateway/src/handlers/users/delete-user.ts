import { deleteUserData } from '@agentmesh/mesh';
import { readAnyUser } from '../../params/params.ts';
import type { Handler } from '../index.ts';

/** Deletes all that is kept of the user, and says how much it was. */
export const deleteUser: Handler = async (context, request) =>
  await deleteUserData(context.mesh, readAnyUser(request), { signal: context.stopping });
