import { readInvocation } from '@agentmesh/mesh';
import type { Handler } from '../../context/route.ts';
import { readInvocationRef } from '../../params/params.ts';

/** How it stands with an invocation. One that was accepted and has not begun is not found yet, as one that never was. */
export const getInvocation: Handler = async (context, request) =>
  await readInvocation(context.mesh, await readInvocationRef(context, request));
