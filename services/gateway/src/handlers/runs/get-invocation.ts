import { readInvocation } from '@agentmesh/mesh';
import type { Handler } from '../../context/route.ts';
import { readInvocationRef } from '../../params/params.ts';

/**
 * Answers with the state of an invocation. An invocation that was accepted and that no replica has taken is not
 * found yet, like an invocation that never existed.
 */
export const getInvocation: Handler = async (context, request) =>
  await readInvocation(context.mesh, await readInvocationRef(context, request));
