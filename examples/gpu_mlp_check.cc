// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "examples/gpu_mlp_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace gpu_mlp {
namespace {

using Values = std::vector<double>;

// Row by row, without gaps.
struct Matrix {
  Matrix(size_t row_count, size_t column_count) : rows(row_count), columns(column_count), values(rows * columns) {}
  template <typename Elements>
  Matrix(size_t row_count, size_t column_count, const Elements& elements)
      : rows(row_count), columns(column_count), values(elements.begin(), elements.end()) {}

  double at(size_t row, size_t column) const { return values[row * columns + column]; }
  double& at(size_t row, size_t column) { return values[row * columns + column]; }

  size_t rows, columns;
  Values values;
};

Matrix Transposed(const Matrix& x) {
  Matrix out(x.columns, x.rows);
  for (size_t i = 0; i < x.rows; ++i) {
    for (size_t j = 0; j < x.columns; ++j) out.at(j, i) = x.at(i, j);
  }
  return out;
}

Matrix Product(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t p = 0; p < a.columns; ++p) {
      for (size_t j = 0; j < b.columns; ++j) out.at(i, j) += a.at(i, p) * b.at(p, j);
    }
  }
  return out;
}

Matrix BiasTanh(Matrix x, const Matrix& bias) {
  for (size_t i = 0; i < x.values.size(); ++i) x.values[i] = std::tanh(x.values[i] + bias.values[i % x.columns]);
  return x;
}

void SoftmaxLoss(const Matrix& x, const Matrix& bias, const std::vector<uint32_t>& labels, Matrix* gradient,
                 Matrix* losses) {
  for (size_t i = 0; i < x.rows; ++i) {
    double sum = 0;
    for (size_t j = 0; j < x.columns; ++j) sum += std::exp(x.at(i, j) + bias.values[j]);
    for (size_t j = 0; j < x.columns; ++j) {
      const double share = std::exp(x.at(i, j) + bias.values[j]) / sum;
      if (j == labels[i]) losses->values[i] = -std::log(share);
      gradient->at(i, j) = (share - (j == labels[i] ? 1 : 0)) / static_cast<double>(x.rows);
    }
  }
}

Matrix TanhBackward(Matrix gradient, const Matrix& y) {
  for (size_t i = 0; i < y.values.size(); ++i) gradient.values[i] *= 1 - y.values[i] * y.values[i];
  return gradient;
}

Matrix ColumnSums(const Matrix& x) {
  Matrix out(1, x.columns);
  for (size_t i = 0; i < x.values.size(); ++i) out.values[i % x.columns] += x.values[i];
  return out;
}

Matrix Sgd(Matrix weights, const Matrix& gradient, double rate) {
  for (size_t i = 0; i < weights.values.size(); ++i) weights.values[i] -= rate * gradient.values[i];
  return weights;
}

class Checker {
 public:
  explicit Checker(Model* model) : model_(model) {}

  Matrix Fetch(const Buffer& buffer) { return {buffer.rows, buffer.columns, model_->Fetch(buffer)}; }

  // Single precision and the device's approximate exp and log leave about 1e-6 of the largest element.
  void Compare(const char* kernel, const char* what, const Buffer& buffer, const Matrix& expected) {
    const Matrix found = Fetch(buffer);
    double scale = 0, difference = 0;
    for (size_t i = 0; i < expected.values.size(); ++i) {
      scale = std::max(scale, std::abs(expected.values[i]));
      const double off = std::abs(found.values[i] - expected.values[i]);
      if (off > difference || std::isnan(off)) difference = off;  // a NaN stays
    }
    const bool good = difference <= 1e-4 * scale;
    std::printf("%-13s %-36s largest %.4g, off by at most %.2g: %s\n", kernel, what, scale, difference,
                good ? "good" : "WRONG");
    all_good_ = all_good_ && good;
  }

  bool all_good() const { return all_good_; }

 private:
  Model* const model_;
  bool all_good_ = true;
};

}  // namespace

bool CheckStep(Model* model, const Weights& before, const Batch& batch, float rate) {
  const Buffers& b = model->buffers();
  const Matrix w1(b.w1.rows, b.w1.columns, before.w1), b1(1, b.b1.columns, before.b1);
  const Matrix w2(b.w2.rows, b.w2.columns, before.w2), b2(1, b.b2.columns, before.b2);
  const Matrix x(b.x.rows, b.x.columns, batch.inputs);
  Checker check(model);

  check.Compare("copy", "inputs", b.x, x);
  check.Compare("matmul", "inputs x weights", b.hidden_sum, Product(x, w1));
  check.Compare("bias_tanh", "hidden", b.hidden, BiasTanh(check.Fetch(b.hidden_sum), b1));
  const Matrix hidden = check.Fetch(b.hidden);
  check.Compare("matmul", "hidden x weights", b.logits, Product(hidden, w2));
  Matrix gradient(b.g_logits.rows, b.g_logits.columns), losses(b.losses.rows, 1);
  SoftmaxLoss(check.Fetch(b.logits), b2, batch.labels, &gradient, &losses);
  check.Compare("softmax_loss", "loss of each sample", b.losses, losses);
  check.Compare("softmax_loss", "gradient of logits", b.g_logits, gradient);

  const Matrix g_logits = check.Fetch(b.g_logits);
  check.Compare("matmul", "hidden' x gradient", b.g_w2, Product(Transposed(hidden), g_logits));
  check.Compare("column_sums", "gradient of the second bias", b.g_b2, ColumnSums(g_logits));
  check.Compare("matmul", "gradient x weights'", b.g_hidden, Product(g_logits, Transposed(w2)));
  check.Compare("tanh_backward", "gradient before tanh", b.g_hidden_sum, TanhBackward(check.Fetch(b.g_hidden), hidden));
  const Matrix g_hidden_sum = check.Fetch(b.g_hidden_sum);
  check.Compare("matmul", "inputs' x gradient", b.g_w1, Product(Transposed(x), g_hidden_sum));
  check.Compare("column_sums", "gradient of the first bias", b.g_b1, ColumnSums(g_hidden_sum));

  const double step = static_cast<double>(rate);
  check.Compare("sgd", "first weights", b.w1, Sgd(w1, check.Fetch(b.g_w1), step));
  check.Compare("sgd", "first bias", b.b1, Sgd(b1, check.Fetch(b.g_b1), step));
  check.Compare("sgd", "second weights", b.w2, Sgd(w2, check.Fetch(b.g_w2), step));
  check.Compare("sgd", "second bias", b.b2, Sgd(b2, check.Fetch(b.g_b2), step));
  return check.all_good();
}

}  // namespace gpu_mlp
