import { deleteUserData } from '@agentmesh/mesh';
import type { Handler } from '../../context/route.ts';
import { readAnyUser } from '../../params/params.ts';

/** Deletes all that is kept of the user, and says how much it was. */
export const deleteUser: Handler = async (context, request) =>
  await deleteUserData(context.mesh, readAnyUser(request), { signal: context.stopping });
