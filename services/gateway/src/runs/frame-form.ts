import type { NumberedEvent } from '@agentmesh/mesh';
import type { reportError } from '../http/answer-error.ts';

/** A frame that may be large: it is read when there is room for it, so that slow clients hold none in memory. */
export class LargeFrame {
  /** Reads the frame; called again when there was no room. */
  readonly read: () => Promise<object>;

  constructor(read: () => Promise<object>) {
    this.read = read;
  }
}

/** The data of a frame. */
export type Frame = object | LargeFrame;

/** The frames of a protocol for the events of a run. */
export interface FrameForm {
  /** Returns the frames before the first event. */
  begin(): readonly Frame[];
  /** Returns the frames of an event. `isLive`: it came when it was committed, so pieces after it are not missing. */
  event(event: NumberedEvent['event'], isLive?: boolean): readonly object[];
  /** Returns the frames after the last event of a run that did not fail. */
  end(): Promise<readonly Frame[]>;
  /** Returns the last frame of a run that failed, or whose stream ends early. */
  failure(error: ReturnType<typeof reportError>): object;
}
