import { deleteUserData } from '@agentmesh/mesh';
import type { Handler } from '../../context/route.ts';
import { readAnyUser } from '../../params/params.ts';

/** Deletes all data of the user, and answers with its amount. */
export const deleteUser: Handler = async (context, request) =>
  await deleteUserData(context.mesh, readAnyUser(request), { signal: context.stopping });
