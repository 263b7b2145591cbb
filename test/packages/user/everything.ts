// Names everything that the package exports, so that the compiler reads all declarations.
import 'agentmesh/gateway';

export * as agentmesh from 'agentmesh';
export * as mesh from 'agentmesh/mesh';
export * as openai from 'agentmesh/openai';
export * as testing from 'agentmesh/testing';
