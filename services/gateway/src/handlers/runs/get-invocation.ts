import { readInvocation } from '@agentmesh/mesh';
import { readInvocationRef } from '../../params/params.ts';
import type { Handler } from '../index.ts';

/** How it stands with an invocation. One that was accepted and has not begun is not found yet, as one that never was. */
export const getInvocation: Handler = async (context, request) =>
  await readInvocation(context.mesh, await readInvocationRef(context, request));
