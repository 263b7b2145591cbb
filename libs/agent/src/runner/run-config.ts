import {
  assertOptions,
  type RunConfig as CompleteRunConfig,
  type OptionNames,
  parse,
  runConfigSchema,
} from '@agentmesh/protocol';

/** Options of one invocation; absent options have their default. */
export type RunConfig = Partial<CompleteRunConfig>;

const optionNames: OptionNames<RunConfig> = {
  maxLlmCalls: true,
  maxTokens: true,
  streamingMode: true,
  pauseOnToolCalls: true,
  plainTextToolConfirmation: true,
  saveInputBlobsAsArtifacts: true,
};

const noLive = 'leave it out: live conversations are not supported';
/** Options of ADK's run configuration that have no effect here, with their replacements. */
const unsupported = {
  speechConfig: noLive,
  outputAudioTranscription: noLive,
  inputAudioTranscription: noLive,
  enableAffectiveDialog: noLive,
  proactivity: noLive,
  realtimeInputConfig: noLive,
  contextWindowCompression: 'use eventsCompactionConfig, or contextCompactors of an agent',
  responseModalities: 'use generateContentConfig of the agent',
  supportCfc: 'leave it out: the model is asked without a live connection',
  allowRemoteToolConfirmation: 'leave it out: agents in other processes ask for confirmations as others do',
  remoteDelivered: 'leave it out: messages that come over the mesh are known',
};

const defaults = runConfigSchema.parse({});

/**
 * Completes a run configuration.
 *
 * @throws MeshError `invalid_argument` for an unknown option, an option of ADK that has no effect here, or a
 * value that does not fit
 */
export function readRunConfig(config?: RunConfig): CompleteRunConfig {
  if (config === undefined) return { ...defaults };
  assertOptions('the run config', config, optionNames, { unsupported });
  const defined = Object.fromEntries(
    Object.entries(config).filter(([name, value]) => value !== undefined && Object.hasOwn(optionNames, name)),
  );
  return parse(runConfigSchema, defined, 'the run config');
}
