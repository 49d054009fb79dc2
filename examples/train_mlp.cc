// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A training framework in miniature, without PyTorch: a small network learns a sine, forward and backward by hand. As
// in a real one, the backward pass runs on a thread of its own, and each operator has a sequence number that its
// backward takes up again, so that the trace has arrows from one to the other.
//
//     FERRET_EXPORT=chrome_trace:trace.json bazel-bin/examples/train_mlp [STEPS]
//
// Says how far it is every 20 steps, of 200 if nothing else is asked for. Without FERRET_EXPORT nothing is recorded, and a
// scope costs a load and a branch.

#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "ferret/scope.h"

namespace {

using Vector = std::vector<float>;

// One sample in, one out; `backward` takes the gradient of the output to that of the input.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual Vector Forward(const Vector& input) = 0;
  virtual Vector Backward(const Vector& gradient) = 0;
  virtual void Update(float /*rate*/) {}
};

// What the forward pass leaves for the backward pass: the operator's number, unique on its thread, and that thread.
struct Node {
  int64_t number = -1;
  uint32_t thread = 0;
};

Node NewNode() {
  thread_local int64_t next = 0;
  return {next++, ferret::ThreadId()};
}

class Linear final : public Layer {
 public:
  Linear(size_t inputs, size_t outputs, std::mt19937* random)
      : inputs_(inputs), weight_(inputs * outputs), gradient_(weight_.size()) {
    std::normal_distribution<float> normal(0, std::sqrt(1.0f / static_cast<float>(inputs)));
    for (float& w : weight_) w = normal(*random);
  }

  Vector Forward(const Vector& input) override {
    node_ = NewNode();
    FERRET_OP_SCOPE("linear", ferret::ForwardOp(node_.number));
    input_ = input;
    Vector output(weight_.size() / inputs_);
    for (size_t i = 0; i < weight_.size(); ++i) output[i / inputs_] += weight_[i] * input[i % inputs_];
    return output;
  }
  Vector Backward(const Vector& gradient) override {
    FERRET_OP_SCOPE("LinearBackward", ferret::BackwardOp(node_.number, node_.thread));
    Vector result(inputs_);
    for (size_t i = 0; i < weight_.size(); ++i) {
      gradient_[i] += gradient[i / inputs_] * input_[i % inputs_];
      result[i % inputs_] += gradient[i / inputs_] * weight_[i];
    }
    return result;
  }
  void Update(float rate) override {
    for (size_t i = 0; i < weight_.size(); ++i) weight_[i] -= rate * std::exchange(gradient_[i], 0.0f);
  }

 private:
  const size_t inputs_;
  Vector weight_, gradient_, input_;
  Node node_;
};

class Tanh final : public Layer {
 public:
  Vector Forward(const Vector& input) override {
    node_ = NewNode();
    FERRET_OP_SCOPE("tanh", ferret::ForwardOp(node_.number));
    output_ = input;
    for (float& x : output_) x = std::tanh(x);
    return output_;
  }
  Vector Backward(const Vector& gradient) override {
    FERRET_OP_SCOPE("TanhBackward", ferret::BackwardOp(node_.number, node_.thread));
    Vector result = gradient;
    for (size_t i = 0; i < result.size(); ++i) result[i] *= 1 - output_[i] * output_[i];
    return result;
  }

 private:
  Vector output_;
  Node node_;
};

// Runs one piece of work at a time on its own thread, as an autograd engine does. An empty one ends the thread.
class Engine {
 public:
  Engine() : thread_([this] { Loop(); }) {}
  ~Engine() {
    Run(nullptr);
    thread_.join();
  }

  void Run(std::function<void()> work) {
    std::unique_lock<std::mutex> lock(mutex_);
    work_ = std::move(work);
    pending_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !pending_; });
  }

 private:
  void Loop() {
    ferret::SetThreadName("backward");
    for (bool more = true; more;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return pending_; });
      more = work_ != nullptr;
      if (more) work_();
      pending_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool pending_ = false;
  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace

int main(int count, char** arguments) {
  const int steps = count > 1 ? std::atoi(arguments[1]) : 200;
  std::mt19937 random(1);
  std::vector<std::unique_ptr<Layer>> model;
  model.push_back(std::make_unique<Linear>(2, 16, &random));
  model.push_back(std::make_unique<Tanh>());
  model.push_back(std::make_unique<Linear>(16, 1, &random));
  std::uniform_real_distribution<float> uniform(-1, 1);
  Engine engine;
  constexpr int kBatch = 32;
  float first = 0, last = 0;
  for (int step = 0; step < steps; ++step) {
    float loss = 0;
    {
      FERRET_ANNOTATION("train step");
      for (int sample = 0; sample < kBatch; ++sample) {
        const Vector input = {uniform(random), uniform(random)};
        Vector value = input;
        for (const auto& layer : model) value = layer->Forward(value);
        const float error = value[0] - std::sin(2 * input[0] + input[1]);
        loss += error * error / kBatch;
        engine.Run([&] {
          Vector gradient = {2 * error / kBatch};
          for (auto layer = model.rbegin(); layer != model.rend(); ++layer) gradient = (*layer)->Backward(gradient);
        });
      }
      FERRET_SCOPE("update");
      for (const auto& layer : model) layer->Update(0.3f);
    }
    ferret::Counter("loss", loss);
    ferret::Step();
    (step == 0 ? first : last) = loss;
    if (step % 20 == 0) {
      std::printf("step %4d  loss %.4f\n", step, static_cast<double>(loss));
      std::fflush(stdout);
    }
  }
  std::printf("loss %.4f -> %.4f\n", static_cast<double>(first), static_cast<double>(last));
  return last < first / 4 ? 0 : 1;
}
