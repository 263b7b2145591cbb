import type { ModelScript } from '@agentmesh/testing';

/** A model's answer. */
export const script: ModelScript = () => ({
  text: 'Support here. I have seen that it is urgent and take care of it right now.',
});
