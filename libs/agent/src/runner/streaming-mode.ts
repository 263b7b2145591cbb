/** ADK's names for the values of `RunConfig.streamingMode`. */
export const StreamingMode = { NONE: 'none', SSE: 'sse' } as const;
export type StreamingMode = (typeof StreamingMode)[keyof typeof StreamingMode];
