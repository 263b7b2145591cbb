import type { Handler } from '../../context/route.ts';

/** Answers whether the gateway can work: 200, or 503 with the reasons. */
export const health: Handler = async ({ mesh }, _request, reply) => {
  const reasons = await mesh.problems();
  if (reasons.length === 0) return { status: 'ok' };
  return reply.status(503).send({ status: 'unavailable', reasons });
};
